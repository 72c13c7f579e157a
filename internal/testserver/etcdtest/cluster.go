package etcdtest

import (
	"context"
	"fmt"
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
	c, ports := new(Cluster), proctest.FreePorts(tb, 2*n)
	var peers []string
	for i := range n {
		cfg := config{
			Name: fmt.Sprintf("m%d", i), Dir: tb.TempDir(), Client: proctest.Addr(ports[2*i]),
			Peer: proctest.Addr(ports[2*i+1]), Tick: 100 * time.Millisecond,
		}
		peers = append(peers, cfg.Name+"=http://"+cfg.Peer)
		c.Members = append(c.Members, newMember(tb, cfg))
	}
	for _, m := range c.Members {
		m.cfg.Peers = strings.Join(peers, ",")
	}
	c.Restart(tb)
	return c
}

// Restart starts the members that have ended with what is in their folders, all at once,
// because one alone serves nobody, and waits until they serve.
func (c *Cluster) Restart(tb testing.TB) { tb.Helper(); proctest.Restart(tb, c.Members...) }

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
func (c *Cluster) Leader(tb testing.TB) *Member {
	tb.Helper()
	client := c.Client(tb)
	return proctest.First(tb, "a member leads", c.Members, func(m *Member) bool {
		ctx, cancel := context.WithTimeout(tb.Context(), time.Second)
		defer cancel()
		s, err := client.Status(ctx, m.Endpoint)
		return err == nil && s.Leader != 0 && s.Leader == s.Header.GetMemberId()
	})
}
