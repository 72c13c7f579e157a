package postgres

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

const (
	// MinTTL is the shortest TTL.
	MinTTL = time.Second
	// MaxHorizon is the longest horizon. It is a constant, because after a loss of
	// data it is all that is known of the windows that were lost: nothing is granted
	// until the longest one that there can have been is over.
	MaxHorizon = 2 * time.Minute
	// DefaultSkewBound is how far a newcomer's clock may be from the server's.
	DefaultSkewBound = time.Second
)

// Options are the settings of [New] beyond pool and namespace. The zero Options
// is usable, and so is nil.
type Options struct {
	// Lease sets the times of the lease, for all generators that use this
	// coordinator. Zero fields: TTL 15 s, Horizon 30 s, RenewEvery a third of the shorter one.
	Lease coord.LeaseConfig
	// SkewBound is how far a newcomer's clock may be from the server's. 0: 1 s.
	SkewBound time.Duration
	// Clock tells the time of renewals. Nil: the system's. Give the same clock to the
	// generator.
	Clock clock.Clock
	// Logger receives what an operator may want to know. Nil: nothing is logged.
	Logger *slog.Logger
}

// Coordinator leases worker IDs of one namespace in a PostgreSQL database. It is safe for
// concurrent use, and one serves any number of generators. Make it with [New].
type Coordinator struct {
	*protocol.Coordinator
}

// New returns a coordinator for a namespace of the database that a pool is connected to.
// It contacts nobody. The pool stays the caller's. Errors wrap [coord.ErrInvalid].
func New(pool *pgxpool.Pool, namespace string, o *Options) (*Coordinator, error) {
	if pool == nil {
		return nil, fmt.Errorf("%w: the pool is nil", coord.ErrInvalid)
	}
	if err := coord.CheckNamespace(namespace); err != nil {
		return nil, err
	}
	var opts Options
	if o != nil {
		opts = *o
	}
	common, err := lifetime.Settings{Lease: opts.Lease, SkewBound: opts.SkewBound, Clock: opts.Clock, Logger: opts.Logger}.Resolve(MaxHorizon, DefaultSkewBound)
	if err != nil {
		return nil, err
	}
	p, err := protocol.New(&store{db: pool, namespace: namespace}, protocol.Settings{
		Driver: "postgres", Title: "the PostgreSQL database", Namespace: namespace, Lease: opts.Lease, MinTTL: MinTTL, MaxHorizon: MaxHorizon,
		SkewBound: common.SkewBound, Clock: common.Clock, Logger: common.Logger, ServerClock: true,
	})
	if err != nil {
		return nil, err
	}
	return &Coordinator{p}, nil
}
