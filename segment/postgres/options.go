package postgres

import (
	"log/slog"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/unalike-id/unalike/internal/sqldb/pgdb"
	"github.com/unalike-id/unalike/internal/sqlsegment"
)

func init() { sqlsegment.Register(pgdb.Scheme, dialect(), pgdb.Open) }

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

// Prepare sets what [New] needs of a pool, before the pool is made: that warnings are heard with
// which the server confirms a commit that its standby may not have, that text is UTF-8 whatever the
// database's encoding is, and that an idle connection is looked at rather than pinged, which would
// cost a round trip. It bounds the age of connections to a minute unless it has a lower bound,
// because only a new connection resolves the server's name again. It is that of package
// coord/postgres.
func Prepare(c *pgxpool.Config) { pgdb.Prepare(c) }

// New returns a store in the database that a pool is connected to, which was made from a
// configuration that [Prepare] has seen. It contacts nobody; the first call looks at the server.
// The pool stays the caller's: close it after the store. Errors wrap [segment.ErrInvalidConfig].
func New(pool *pgxpool.Pool, o Options) (*Store, error) {
	s, err := sqlsegment.New(pgdb.Of(pool), dialect(), sqlsegment.Options(o))
	if err != nil {
		return nil, err
	}
	return &Store{s}, nil
}

// Schema is the statement that makes a table; empty: leaf_alloc, with the columns of Leaf's.
func Schema(table string) string { return sqlsegment.Schema(dialect(), table) }
