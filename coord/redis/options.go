package redis

import (
	"cmp"
	"log/slog"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/invalid"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

const (
	// MinTTL is the shortest TTL. Redis keeps leases by the millisecond; what bounds
	// them is that a failover should be over before a lease is.
	MinTTL = time.Second
	// MaxHorizon is the longest horizon. It is a constant, because after a loss of
	// data it is all that is known of the windows that were lost: nothing is granted
	// until the longest one that there can have been is over.
	MaxHorizon = 30 * time.Second
	// DefaultSkewBound is how far apart the clocks of holders and servers may be.
	DefaultSkewBound = time.Second
	// MaxShare is how many worker IDs a share can have: an acquisition reads who holds them.
	MaxShare = 1 << 16
)

// Options are the settings of [New] beyond client and namespace. The zero Options
// works.
type Options struct {
	// Lease sets the times of the lease, for all generators that use this
	// coordinator. TTL is at least 1 s, in whole milliseconds. Horizon is at most
	// [MaxHorizon]. Zero fields: TTL 15 s, Horizon 30 s, RenewEvery a third of the
	// shorter one. WorkerIDs and Identity must be zero; they belong in the generator's
	// configuration.
	Lease coord.LeaseConfig
	// SkewBound is how far a newcomer's clock may be from the server's, and how far
	// apart the clocks of servers that succeed each other may be. 0: 1 s. It is less
	// than MaxHorizon, and the same for all who use a namespace.
	SkewBound time.Duration
	// Durable says that the server keeps what it has confirmed when it restarts: a single server
	// with appendonly yes and appendfsync always. A restart with its file is no loss then. All who
	// use a namespace say so, or none does. A server with other settings is refused, if CONFIG may
	// be read.
	Durable bool
	// Clock is compared with the server's. Nil: the system's. Give the same clock to the
	// generator.
	Clock clock.Clock
	// Logger receives what an operator may want to know. Nil: warnings go to
	// slog.Default(), as with core.Config.
	Logger *slog.Logger
}

// resolve fills in defaults and checks the options.
func (opts Options) resolve() (Options, error) {
	err := lifetime.Resolve(opts.Lease, &opts.SkewBound, &opts.Clock, &opts.Logger, MaxHorizon,
		DefaultSkewBound)
	return opts, cmp.Or(err, checkTTL(opts.Lease.TTL))
}

// checkTTL refuses what Redis would round. 0 is left to the caller.
func checkTTL(ttl time.Duration) error {
	if ttl%time.Millisecond != 0 {
		return invalid.Errorf("TTL is %v; Redis keeps leases by whole milliseconds, at least %v", ttl,
			MinTTL)
	}
	return nil
}

// New returns a coordinator for a namespace of the Redis that client is connected
// to: a [goredis.Client], also one that asks Sentinel, or a [goredis.ClusterClient].
// The package comment says how it should be set up, and which clients are refused. New
// contacts nobody. The client stays the caller's: close it after the coordinator.
// Errors wrap [coord.ErrInvalid].
//
// Acquire makes three calls to Redis, however many worker IDs are held; more only if others
// take the same ones at the same moment, or if the namespace is not there. Renew and Release
// make one.
func New(client goredis.UniversalClient, namespace string, opts Options,
) (coord.AdminCoordinator, error) {
	set, err := setupOf(client)
	if err == nil {
		err = set.check()
	}
	if err != nil {
		return nil, err
	}
	if err := driver.CheckNamespace(namespace); err != nil {
		return nil, err
	}
	if opts.Durable && !set.isSingle() {
		return nil, invalid.Errorf("Durable is true; it is for one server, not for a Cluster or Sentinel")
	}
	at, place := set.where(namespace)
	s := &store{namespace: namespace, at: at}
	s.clients = lifetime.Keep(connections{client, namespace})
	return protocol.Public(begin(s, place, opts, set.warnings()))
}

// begin returns the coordinator of a store.
func begin(s *store, place string, opts Options, warnings []string) (*protocol.Coordinator, error) {
	opts, err := opts.resolve()
	if err != nil {
		return nil, err
	}
	s.log, s.durable = opts.Logger, opts.Durable
	p, err := protocol.New(s, protocol.Settings{
		Driver: "redis", Title: "Redis", Namespace: s.namespace, Place: place, Warnings: warnings,
		Lease:  opts.Lease,
		MinTTL: MinTTL, MaxHorizon: MaxHorizon,
		ShortOnly: "a Redis can lose the namespace itself, and with it how far its windows reach",
		SkewBound: opts.SkewBound, ServerClock: true, Forgets: true, Clock: opts.Clock,
		Logger: opts.Logger, CheckTTL: checkTTL,
	})
	if err != nil {
		return nil, err
	}
	s.life = p.Life().Context()
	return p, nil
}
