package backend

import (
	"context"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/faults/proxy"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// etcd is an etcd cluster, maybe of one member.
type etcd struct {
	common
	cluster *etcdtest.Cluster
}

func startEtcd(tb testing.TB) Backend {
	tb.Helper()
	return newEtcd(tb, "etcd", etcdtest.StartCluster(tb, 1))
}

func startEtcd3(tb testing.TB) Backend {
	tb.Helper()
	return &etcd3{newEtcd(tb, "etcd3", etcdtest.StartDivisible(tb, 3))}
}

func newEtcd(tb testing.TB, name string, c *etcdtest.Cluster) *etcd {
	tb.Helper()
	b := &etcd{common{name: name, proxy: proxy.Start(tb, c.Endpoints()...), call: "/unalike/", restart: c.Restart}, c}
	for _, m := range c.Members {
		b.servers, b.dirs = append(b.servers, m), append(b.dirs, m.Dir)
	}
	return b
}

// URL implements Backend.
func (b *etcd) URL(options ...string) string {
	s := newSettings(options)
	return "etcd://" + strings.Join(b.proxy.Addrs(), ",") + "/" + s.take("namespace") + s.query()
}

// EndSessions implements SessionEnder.
func (b *etcd) EndSessions(tb testing.TB) int {
	tb.Helper()
	ended := 0
	b.ask(tb, func(ctx context.Context, c *clientv3.Client) error {
		leases, err := c.Leases(ctx)
		if err != nil {
			return err
		}
		for _, l := range leases.Leases {
			if _, err := c.Revoke(ctx, l.ID); err == nil { // else it has ended by itself
				ended++
			}
		}
		return nil
	})
	return ended
}

// Fill implements Filler: the cluster is told that a member has reached the quota of its
// database, which is all that the others know of a disk that is full.
func (b *etcd) Fill(tb testing.TB) {
	tb.Helper()
	b.ask(tb, func(ctx context.Context, c *clientv3.Client) error {
		s, err := c.Status(ctx, b.cluster.Members[0].Endpoint)
		if err != nil {
			return err
		}
		_, err = pb.NewMaintenanceClient(c.ActiveConnection()).Alarm(ctx, &pb.AlarmRequest{
			Action: pb.AlarmRequest_ACTIVATE, MemberID: s.Header.GetMemberId(), Alarm: pb.AlarmType_NOSPACE,
		})
		return err
	})
}

// Drain implements Filler.
func (b *etcd) Drain(tb testing.TB) {
	tb.Helper()
	b.ask(tb, func(ctx context.Context, c *clientv3.Client) error {
		_, err := c.AlarmDisarm(ctx, &clientv3.AlarmMember{})
		return err
	})
}

// ask makes calls at the members, and not through the proxy. They must succeed.
func (b *etcd) ask(tb testing.TB, calls func(context.Context, *clientv3.Client) error) {
	tb.Helper()
	c := b.cluster.Client(tb)
	defer c.Close()
	if err := calls(streamtest.Within(tb), c); err != nil {
		tb.Fatal(err)
	}
}

// etcd3 is a cluster of three members.
type etcd3 struct{ *etcd }

// Leader implements Elected.
func (b *etcd3) Leader(tb testing.TB) Server { tb.Helper(); return b.cluster.Leader(tb) }

// CutOff implements Divisible.
func (b *etcd3) CutOff(tb testing.TB, s Server) { tb.Helper(); b.cluster.CutOff(tb, b.member(tb, s)) }

// Rejoin implements Divisible.
func (b *etcd3) Rejoin(tb testing.TB, s Server) { tb.Helper(); b.cluster.Rejoin(tb, b.member(tb, s)) }

// member returns s as what it is.
func (b *etcd3) member(tb testing.TB, s Server) *etcdtest.Member {
	tb.Helper()
	m, ok := s.(*etcdtest.Member)
	if !ok {
		tb.Fatalf("%v is no member of this cluster", s)
	}
	return m
}
