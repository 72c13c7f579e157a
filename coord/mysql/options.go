package mysql

import (
	"database/sql"
	"log/slog"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/sqldb/mysqldb"
	"github.com/unalike-id/unalike/internal/sqlstore"
)

func init() {
	for _, name := range mysqldb.Scheme.All() {
		driver.Register(name, open)
	}
}

// open makes a coordinator, and a pool of its own, from a URL. It contacts nobody.
var open = sqlstore.Opener(mysqldb.Scheme, dialect(), mysqldb.Open)

const (
	// MinTTL is the shortest TTL.
	MinTTL = sqlstore.MinTTL
	// MaxHorizon is the longest horizon. It is a constant, because after a loss of
	// data it is all that is known of the windows that were lost: nothing is granted
	// until the longest one that there can have been is over. A namespace may be
	// declared with a longer one, for holders that survive: see [coord.Space].
	MaxHorizon = sqlstore.MaxHorizon
	// DefaultSkewBound is how far a newcomer's clock may be from the server's.
	DefaultSkewBound = sqlstore.DefaultSkewBound
	// DefaultPrefix begins the names of the tables.
	DefaultPrefix = sqlstore.DefaultPrefix
	// MaxCapacity is how many worker IDs a namespace can have.
	MaxCapacity = sqlstore.MaxCapacity
)

// Options are the settings of [New] beyond pool and namespace. The zero Options
// works.
type Options struct {
	// Lease sets the times of the lease, for all generators that use this
	// coordinator. Zero fields: TTL 15 s, Horizon 30 s, RenewEvery a third of the shorter one.
	Lease coord.LeaseConfig
	// SkewBound is how far a newcomer's clock may be from the server's. 0: 1 s.
	SkewBound time.Duration
	// Prefix begins the names of the tables. Empty: unalike_.
	Prefix string
	// Accept are risks of the server's settings that are taken: innodb_flush_log_at_trx_commit,
	// sync_binlog, binlog_format, semi_sync, single_writer. A server with one that is not accepted
	// is refused.
	Accept []string
	// Clock tells the time of renewals. Nil: the system's. Give the same clock to the
	// generator.
	Clock clock.Clock
	// Logger receives what an operator may want to know. Nil: warnings go to
	// slog.Default(), as with core.Config.
	Logger *slog.Logger
}

// New returns a coordinator for a namespace of the database that a pool is connected to, which
// was made with MultiStatements and whose SetConnMaxLifetime is a minute at most. It contacts
// nobody. The pool stays the caller's: close it after the coordinator. Errors wrap
// [coord.ErrInvalid].
//
// Acquire makes three round trips, or two where the identity's last worker ID can be had at
// once, however many worker IDs are held. Renew makes one.
func New(pool *sql.DB, namespace string, opts Options) (coord.AdminCoordinator, error) {
	return protocol.Public(sqlstore.New(mysqldb.Of(pool, ""), dialect(), namespace,
		sqlstore.Options(opts)))
}
