package etcd

import (
	"cmp"
	"log/slog"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivers"
	"github.com/unalike-id/unalike/internal/invalid"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

const (
	// MinTTL is the shortest TTL: etcd keeps leases by whole seconds, and raises
	// shorter ones to 2 s by itself with its default ticks.
	MinTTL = 2 * time.Second
	// MaxHorizon is the longest horizon. It is a constant, because after a loss of
	// data it is all that is known of the windows that were lost: nothing is granted
	// until the longest one that there can have been is over. A namespace may be
	// declared with a longer one, for holders that survive: see [coord.Space].
	MaxHorizon = 2 * time.Minute
	// DefaultSkewBound is how far a newcomer's clock may be from those of the holders.
	DefaultSkewBound = time.Second
)

// Options are the settings of [New] beyond client and namespace. The zero Options
// works.
type Options struct {
	// Lease sets the times of the lease, for all generators that use this
	// coordinator. TTL is in whole seconds. Zero fields: TTL 15 s, Horizon 30 s,
	// RenewEvery a third of the shorter one. WorkerIDs and Identity must be zero; they
	// belong in the generator's configuration.
	Lease coord.LeaseConfig
	// SkewBound is how far a newcomer's clock may be from the clocks of the holders.
	// 0: 1 s. It is less than MaxHorizon.
	SkewBound time.Duration
	// OneMachine says that all programs that use the cluster run on this machine, so that
	// there is one clock and none to compare it with. Package embedded sets it.
	OneMachine bool
	// Clock tells the time of renewals, with which newcomers compare their clocks. Nil:
	// the system's. Give the same clock to the generator.
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

// checkTTL refuses what etcd would round. 0 is left to the caller.
func checkTTL(ttl time.Duration) error {
	if ttl%time.Second != 0 {
		return invalid.Errorf("TTL is %v; etcd keeps leases by whole seconds, at least %v", ttl, MinTTL)
	}
	return nil
}

// New returns a coordinator for a namespace of the etcd cluster that client is
// connected to. It contacts nobody. The client stays the caller's: close it after
// the coordinator. Errors wrap [coord.ErrInvalid].
//
// Acquire makes four calls to etcd, two of them at the same time, however many worker IDs are
// held; more only if others take the same ones at the same moment, and, in the background, to list
// the namespaces of the cluster if it has made one. Renew makes one, and keeps the lease alive at
// the same time.
func New(client *clientv3.Client, namespace string, opts Options) (coord.AdminCoordinator, error) {
	return protocol.Public(newCoordinator(client, namespace, opts, false))
}

// newCoordinator is New for a client that the coordinator closes if it owns it.
func newCoordinator(client *clientv3.Client, namespace string, opts Options, owned bool,
) (*protocol.Coordinator, error) {
	if client == nil {
		return nil, invalid.Errorf("the etcd client is nil")
	}
	if err := checkNamespace(namespace); err != nil {
		return nil, err
	}
	opts, err := opts.resolve()
	if err != nil {
		return nil, err
	}
	st := &store{
		client: client, owned: owned, keys: keyspace(root + namespace + "/"), log: opts.Logger,
	}
	p, err := protocol.New(st, protocol.Settings{
		Driver: "etcd", Title: "the etcd cluster", Namespace: namespace,
		Place: placeOf(client, namespace), Lease: opts.Lease, MinTTL: MinTTL, MaxHorizon: MaxHorizon,
		SkewBound: opts.SkewBound, OneMachine: opts.OneMachine, Outlives: true, Clock: opts.Clock,
		Logger: opts.Logger, CheckTTL: checkTTL,
	})
	if err != nil {
		return nil, err
	}
	st.life = p.Life()
	st.life.Spawn(func() { st.watchRoom(st.life.Context(), time.Tick(roomEvery)) })
	return p, nil
}

// placeOf names the namespace by the servers that a client talks to.
func placeOf(client *clientv3.Client, namespace string) string {
	var hosts []string
	for _, e := range client.Endpoints() {
		hosts = append(hosts, e[strings.LastIndex(e, "/")+1:]) // with TLS or without
	}
	slices.Sort(hosts)
	return drivers.JoinPlace("etcd", append(hosts, namespace)...)
}
