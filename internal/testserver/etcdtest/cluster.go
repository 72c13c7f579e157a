package etcdtest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
)

// Cluster is several members in processes of their own.
type Cluster struct {
	Members []*Member
	gates   []*proxytest.Proxy // before the members, for each other, if it is divisible
}

// StartCluster runs n members with etcd's standard ticks. They end with the test.
// With one member it is a server that can be frozen and killed.
func StartCluster(tb testing.TB, n int) *Cluster {
	tb.Helper()
	return start(tb, n, false)
}

// StartDivisible is StartCluster for a cluster whose members can be cut off from
// each other.
func StartDivisible(tb testing.TB, n int) *Cluster {
	tb.Helper()
	return start(tb, n, true)
}

func start(tb testing.TB, n int, divisible bool) *Cluster {
	tb.Helper()
	c, ports := new(Cluster), proctest.FreePorts(tb, 2*n)
	var peers []string
	for i := range n {
		cfg := config{
			Name: fmt.Sprintf("m%d", i), Dir: tb.TempDir(), Client: proctest.Addr(ports[2*i]),
			Peer: proctest.Addr(ports[2*i+1]), Tick: 100 * time.Millisecond,
		}
		cfg.Known = cfg.Peer
		if divisible {
			gate := proxytest.Start(tb, cfg.Peer)
			c.gates, cfg.Known = append(c.gates, gate), gate.Addr
		}
		peers = append(peers, cfg.Name+"=http://"+cfg.Known)
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
func (c *Cluster) Restart(tb testing.TB) {
	tb.Helper()
	var all []*proctest.Server
	for _, m := range c.Members {
		all = append(all, m.Server)
	}
	proctest.Restart(tb, all...)
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
		i := slices.IndexFunc(c.Members, func(m *Member) bool {
			id, leads := m.status(tb, client, time.Second)
			return id != 0 && id == leads
		})
		if i >= 0 {
			leader = c.Members[i]
		}
		return i >= 0
	})
	return leader
}

// status returns the number of the member, and of the one that leads; 0: it is not known.
func (m *Member) status(tb testing.TB, client *clientv3.Client,
	limit time.Duration,
) (id, leader uint64) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), limit)
	defer cancel()
	s, err := client.Status(ctx, m.Endpoint)
	if err != nil {
		return 0, 0
	}
	return s.Header.GetMemberId(), s.Leader
}

// CutOff separates a member from the others, in both directions. Its clients still
// reach it. The cluster must have been started by [StartDivisible].
func (c *Cluster) CutOff(tb testing.TB, m *Member) {
	tb.Helper()
	if m.id == 0 {
		if m.id, _ = m.status(tb, Connect(tb, []string{m.Endpoint}), readyTime); m.id == 0 {
			tb.Fatalf("member %s does not say its number", m.cfg.Name)
		}
	}
	m.off = true
	c.divide()
}

// Rejoin ends what CutOff has done.
func (c *Cluster) Rejoin(_ testing.TB, m *Member) {
	m.off = false
	c.divide()
}

// divide has the proxy before each member let through what neither comes from nor goes to one that
// is cut off. Members say who they are in the header of each request.
func (c *Cluster) divide() {
	var from [][]byte
	for _, m := range c.Members {
		if m.off {
			from = append(from, []byte("\r\nX-Server-From: "+strconv.FormatUint(m.id, 16)+"\r\n"))
		}
	}
	for i, m := range c.Members {
		off := m.off
		c.gates[i].Bar(func(head []byte) bool {
			return off || slices.ContainsFunc(from, func(line []byte) bool {
				return bytes.Contains(head, line)
			})
		})
	}
}
