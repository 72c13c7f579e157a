package redis_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"regexp"
	"strconv"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// executed returns how often a server has executed a script.
func executed(t *testing.T, s *redistest.Server) (n int) {
	t.Helper()
	stats := s.Do(t, "INFO", "commandstats")
	for _, calls := range regexp.MustCompile(`cmdstat_eval(?:sha)?:calls=(\d+)`).
		FindAllStringSubmatch(stats, -1) {
		count, err := strconv.Atoi(calls[1])
		if err != nil {
			t.Fatal(err)
		}
		n += count
	}
	return n
}

// TestRenew_LostAnswerIsNotRepeated: a client with the library's options does not repeat a renewal
// whose answer is lost, although it repeats its other commands.
func TestRenew_LostAnswerIsNotRepeated(t *testing.T) {
	t.Parallel()
	single := func(t *testing.T) (*redistest.Server, *proxytest.Proxy, goredis.UniversalClient) {
		t.Helper()
		server := redistest.Start(t, redistest.Options{})
		network := proxytest.Start(t, server.Addr)
		return server, network, goredis.NewClient(&goredis.Options{Addr: network.Addr})
	}
	cluster := func(t *testing.T) (*redistest.Server, *proxytest.Proxy, goredis.UniversalClient) {
		t.Helper()
		var network *proxytest.Proxy
		nodes := redistest.StartCluster(t, redistest.Options{
			Announce: func(tb testing.TB, addr string) string {
				tb.Helper()
				network = proxytest.Start(tb, addr)
				return network.Addr
			},
		}, 1).Nodes
		return nodes[0], network, goredis.NewClusterClient(&goredis.ClusterOptions{
			Addrs: []string{network.Addr},
		})
	}
	for name, start := range map[string]func(t *testing.T) (*redistest.Server, *proxytest.Proxy,
		goredis.UniversalClient){"single": single, "cluster": cluster} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, network, client := start(t)
			t.Cleanup(func() { _ = client.Close() })
			calls := new(counter)
			client.AddHook(calls)
			ns := newNamespace(t, client, layout)
			c := newCoordinator(t, client, ns)
			g := mustAcquire(t, c, request(1))
			before := executed(t, server)
			calls.steps = 0
			network.Rob(1, func(b []byte) bool { return bytes.Contains(b, []byte(redis.KeyOf(ns))) })
			if h, err := c.Renew(within(t), g, g.NotAfter+10); err == nil {
				t.Fatalf("Renew, whose answers are lost: %v", h)
			}
			network.Restore()
			if n := executed(t, server) - before; n != calls.steps {
				t.Errorf("%d steps were executed %d times", calls.steps, n)
			}
			if h, err := c.Renew(within(t), g, g.NotAfter); err != nil || h.NotAfter != g.NotAfter+10 {
				t.Errorf("Renew: %v, %v; want the end at %d, which was stored", h, err, g.NotAfter+10)
			}
		})
	}
}

// failover promotes the replica of a pair when the next step was executed, and loses its answer.
type failover struct {
	counter
	promote func() // nil: it was done
}

// ProcessHook implements [goredis.Hook].
func (f *failover) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	next = f.counter.ProcessHook(next)
	return func(ctx context.Context, cmd goredis.Cmder) error {
		err := next(ctx, cmd)
		if f.promote == nil || f.steps == 0 {
			return err
		}
		f.promote()
		f.promote = nil
		return &net.OpError{Op: "read", Net: "tcp", Err: net.ErrClosed}
	}
}

// TestRenew_LostAnswerAtFailover: the old master of a Cluster executes a renewal, whose answer is
// lost with it. The promoted one would refuse the same renewal, and the holder would take that
// for the sign of a copy of itself and lose its worker ID.
func TestRenew_LostAnswerAtFailover(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	network := proxytest.Start(t, p.a.Addr)
	ns := newNamespace(t, p.client(t), layout)
	calls := new(failover)
	client := goredis.NewClusterClient(&goredis.ClusterOptions{
		ClusterSlots: func(context.Context) ([]goredis.ClusterSlot, error) {
			node := goredis.ClusterNode{Addr: network.Addr}
			return []goredis.ClusterSlot{{End: 16383, Nodes: []goredis.ClusterNode{node}}}, nil
		},
		NewClient: func(o *goredis.Options) *goredis.Client {
			c := goredis.NewClient(o)
			c.AddHook(calls)
			return c
		},
	})
	t.Cleanup(func() { _ = client.Close() })
	c := newCoordinator(t, client, ns)
	g := mustAcquire(t, c, request(1))
	p.synced(t)
	calls.steps = 0
	calls.promote = func() {
		p.synced(t)
		p.promote(t, p.b)
		network.Lead(p.b.Addr)
		network.Reset()
	}
	if h, err := c.Renew(within(t), g, g.NotAfter+10); !errors.Is(err, coord.ErrQuarantined) {
		t.Errorf("Renew: %v, %v; want the quarantine of a failover", h, err)
	}
}

// TestRenew_Redirected: the slot of a namespace moves to another node of a Cluster. The client
// follows ASK while it moves, and MOVED afterwards.
func TestRenew_Redirected(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, redistest.Options{}, 2).Nodes
	client := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{nodes[0].Addr}})
	t.Cleanup(func() { _ = client.Close() })
	ns := newNamespace(t, client, layout)
	c := newCoordinator(t, client, ns)
	g := mustAcquire(t, c, request(1))
	slot, err := client.ClusterKeySlot(within(t), redis.KeyOf(ns)).Result()
	if err != nil {
		t.Fatal(err)
	}
	from, to := nodes[0], nodes[1]
	if slot >= 1<<13 { // of 2^14
		from, to = to, from
	}
	here, there := from.Do(t, "CLUSTER", "MYID"), to.Do(t, "CLUSTER", "MYID")
	to.Do(t, "CLUSTER", "SETSLOT", slot, "IMPORTING", here)
	from.Do(t, "CLUSTER", "SETSLOT", slot, "MIGRATING", there)
	host, port, err := net.SplitHostPort(to.Addr)
	if err != nil {
		t.Fatal(err)
	}
	from.Do(t, "MIGRATE", host, port, "", 0, callTime.Milliseconds(), "KEYS", redis.KeyOf(ns),
		redis.LeaseOf(ns, g.WorkerID))
	redirected := func(how string) {
		before := executed(t, to)
		if h, err := c.Renew(within(t), g, g.NotAfter+10); !errors.Is(err, coord.ErrQuarantined) {
			t.Errorf("Renew with %s: %v, %v; want the quarantine of another server", how, h, err)
		}
		if executed(t, to) == before {
			t.Errorf("Renew with %s was not executed by the node with the slot", how)
		}
	}
	redirected("ASK")
	to.Do(t, "CLUSTER", "SETSLOT", slot, "NODE", there)
	from.Do(t, "CLUSTER", "SETSLOT", slot, "NODE", there)
	redirected("MOVED")
}
