package etcdtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// Cluster is several members in processes of their own.
type Cluster struct{ Members []*Member }

// StartCluster runs n members with etcd's standard ticks. They end with the test.
// With one member it is a server that can be frozen and killed.
func StartCluster(tb testing.TB, n int) *Cluster {
	tb.Helper()
	c, addrs := new(Cluster), freeAddrs(tb, 2*n)
	peers := make([]string, n)
	for i := range peers {
		peers[i] = fmt.Sprintf("m%d=http://%s", i, addrs[2*i+1])
	}
	for i := range n {
		m := &Member{Endpoint: addrs[2*i], Dir: tb.TempDir()}
		m.cfg = config{
			Name: fmt.Sprintf("m%d", i), Dir: m.Dir, Client: addrs[2*i], Peer: addrs[2*i+1],
			Peers: strings.Join(peers, ","), Tick: 100 * time.Millisecond,
		}
		c.Members = append(c.Members, m)
		m.launch(tb)
	}
	for _, m := range c.Members {
		m.await(tb)
	}
	return c
}

// Restart starts the members that have ended with what is in their folders, all at once,
// because one alone serves nobody, and waits until they serve.
func (c *Cluster) Restart(tb testing.TB) {
	tb.Helper()
	proctest.RestartEnded(c.Members, func(m *Member) { m.launch(tb) }, func(m *Member) { m.await(tb) })
}

// Endpoints returns the addresses of all members.
func (c *Cluster) Endpoints() []string {
	var all []string
	for _, m := range c.Members {
		all = append(all, m.Endpoint)
	}
	return all
}

// Client returns a client of all members that is closed with the test.
func (c *Cluster) Client(tb testing.TB, opts ...grpc.DialOption) *clientv3.Client {
	tb.Helper()
	return Connect(tb, c.Endpoints(), opts...)
}

// Leader returns the member that leads; it waits until one does.
func (c *Cluster) Leader(tb testing.TB) (leader *Member) {
	tb.Helper()
	client := c.Client(tb)
	proctest.Eventually(tb, readyTime, "a member leads", func() bool {
		i := slices.IndexFunc(c.Members, func(m *Member) bool { return leads(tb.Context(), client, m) })
		if i >= 0 {
			leader = c.Members[i]
		}
		return i >= 0
	})
	return leader
}

func leads(ctx context.Context, client *clientv3.Client, m *Member) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	s, err := client.Status(ctx, m.Endpoint)
	return err == nil && s.Leader != 0 && s.Leader == s.Header.GetMemberId()
}
