package mysql

import (
	"database/sql"
	"log/slog"

	"github.com/unalike-id/unalike/internal/sqldb/mysqldb"
	"github.com/unalike-id/unalike/internal/sqlsegment"
)

func init() { sqlsegment.Register(mysqldb.Scheme, dialect(), mysqldb.Open) }

// Options are the settings of [New] beyond the pool. The zero Options works.
type Options struct {
	// Table is the name of the table, or schema.table. Empty: leaf_alloc.
	Table string
	// RequireDurable refuses a server that may lose what it has confirmed. Otherwise it is a warning.
	RequireDurable bool
	// Skip is what is added to every tag when the server is another one than before, as after a
	// failover. 0: refills stop then with segment.ErrStoreChanged until somebody has raised all tags.
	Skip int64
	// Servers are the identities of servers each of which has all that any of them has confirmed, as
	// those of a Galera cluster: a change from one to another is none. Empty: there is one server.
	Servers []string
	// Logger receives what an operator may want to know. Nil: warnings go to
	// slog.Default(), as with core.Config.
	Logger *slog.Logger
}

// Store keeps the numbers in a table. It is safe for concurrent use, and one serves any number of
// sequences. Make it with [New]; segment.Open makes the same from a URL. It implements
// segment.Creator, segment.Advancer and segment.Warner.
type Store struct{ *sqlsegment.Store }

// New returns a store in the database that a pool is connected to, which was made with
// MultiStatements and whose SetConnMaxLifetime is a minute at most. It contacts nobody; the first
// call looks at the server. The pool stays the caller's: close it after the store. Errors wrap
// [segment.ErrInvalidConfig].
func New(pool *sql.DB, o Options) (*Store, error) {
	s, err := sqlsegment.New(mysqldb.Of(pool, ""), dialect(), sqlsegment.Options(o))
	if err != nil {
		return nil, err
	}
	return &Store{s}, nil
}

// Schema is the statement that makes a table; empty: leaf_alloc. It is Leaf's.
func Schema(table string) string { return sqlsegment.Schema(dialect(), table) }
