package zk

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/drivers"
	"github.com/unalike-id/unalike/internal/invalid"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/wrongserver"
)

// New returns a coordinator for a namespace of the ZooKeeper ensemble with the given
// servers, each host or host:port. It contacts nobody; every grant has a connection
// of its own, which lasts as long as the grant. Close ends all connections, but releases no worker
// ID: sessions that hold one end on the servers after their TTL. Errors wrap [coord.ErrInvalid].
func New(servers []string, namespace string, opts Options) (coord.AdminCoordinator, error) {
	addresses, err := addressesOf(servers)
	if err != nil {
		return nil, err
	}
	if err := driver.CheckNamespace(namespace); err != nil {
		return nil, err
	}
	opts, err = opts.resolve()
	if err != nil {
		return nil, err
	}
	st := newStore(addresses, namespace, opts)
	p, err := protocol.New(st, protocol.Settings{
		Driver: "zookeeper", Title: "the ZooKeeper ensemble", Namespace: namespace,
		Place: drivers.JoinPlace("zk", append(slices.Sorted(slices.Values(addresses)), opts.Chroot,
			namespace)...),
		Lease: opts.Lease, MinTTL: MinTTL, MaxHorizon: MaxHorizon, SkewBound: opts.SkewBound,
		ServerClock: true, Outlives: true, Clock: opts.Clock, Logger: opts.Logger, CheckTTL: checkTTL,
	})
	if err != nil {
		return nil, err
	}
	st.life = p.Life()
	st.life.Guard((&wrongserver.Check{
		Product: wrongserver.ZooKeeper, Addresses: addresses, Invalid: coord.ErrInvalid,
	}).Do)
	return p, nil
}

// addressesOf checks servers and adds the port where it is left out.
func addressesOf(servers []string) ([]string, error) {
	var hosts []string
	for _, s := range servers {
		if ip, err := netip.ParseAddr(s); err == nil && ip.Is6() {
			s = "[" + s + "]"
		}
		hosts = append(hosts, s)
	}
	u, err := driver.ParseURL(scheme + "://" + strings.Join(hosts, ","))
	if err != nil {
		return nil, err
	}
	if len(hosts) == 0 || !slices.Equal(u.Hosts, hosts) {
		return nil, invalid.Errorf("the servers are %q; give at least one, each as host or host:port",
			servers)
	}
	return u.Addresses(defaultPort)
}
