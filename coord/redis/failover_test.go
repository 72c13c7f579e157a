package redis_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// TestSentinelFailover: the primary dies under running holders. They go on through it,
// except for what the quarantine takes from their windows.
func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	servers := redistest.StartReplicated(t, redistest.Options{Silence: 500 * time.Millisecond})
	ns := newNamespace(t, servers.Client(t), layout)
	var streams []*stream
	for range 2 {
		streams = append(streams, run(generate(t, shortCoordinator(t, servers.Client(t), ns), lease())))
	}
	for _, s := range streams {
		s.more(t, 100)
	}
	began := time.Now()
	servers.Primary.Kill()
	eventually(t, "the replica is promoted", func() bool { return role(servers.Replica.Client(t)) == "master" })
	failover := time.Since(began)
	newcomer := run(generate(t, shortCoordinator(t, servers.Client(t), ns), lease()))
	streams = append(streams, newcomer)
	servers.Primary.Restart(t) // it comes back, and follows the one that took its place
	eventually(t, "the old primary is a replica", func() bool { return role(servers.Primary.Client(t)) == "slave" })
	for i, s := range streams {
		s.more(t, 500)
		s.stop(t, 600)
		t.Logf("failover took %v; generator %d was without an ID for %v; first error: %v", failover, i, s.pause, s.err)
	}
	wantUnique(t, streams...)
}

// role is what a server says that it is; empty: it says nothing.
func role(c *goredis.Client) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	info, _ := c.Info(ctx, "replication").Result()
	_, after, _ := strings.Cut(info, "role:")
	name, _, _ := strings.Cut(after, "\r")
	return name
}

// pair is two servers, of which a client of the pair uses one, and a link between them
// over which the second can follow the first.
type pair struct {
	a, b   *redistest.Server
	link   *proxytest.Proxy // to a
	active atomic.Pointer[redistest.Server]
}

func newPair(t *testing.T) *pair {
	t.Helper()
	o := redistest.Options{Args: []string{"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"}}
	p := &pair{a: redistest.Start(t, o), b: redistest.Start(t, o)}
	p.link = proxytest.Start(t, p.a.Addr)
	p.active.Store(p.a)
	follow(t, p.b, p.link.Addr)
	return p
}

// follow makes a server a replica of the one at an address, and waits until it is.
func follow(t *testing.T, s *redistest.Server, addr string) {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	s.Do(t, "REPLICAOF", host, port)
	redistest.AwaitLink(t, s)
}

// client returns a client that connects to the active server.
func (p *pair) client(t *testing.T) *goredis.Client {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", p.active.Load().Addr)
		},
		MaxRetries: -1, ContextTimeoutEnabled: true, DialerRetries: 1, Protocol: 2,
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// synced waits until b has what a has.
func (p *pair) synced(t *testing.T) {
	t.Helper()
	if n := p.a.Do(t, "WAIT", 1, callTime.Milliseconds()); n != "1" {
		t.Fatalf("%s replicas follow; want 1", n)
	}
}

// promote makes s a primary, and the active one.
func (p *pair) promote(t *testing.T, s *redistest.Server) {
	t.Helper()
	s.Do(t, "REPLICAOF", "NO", "ONE")
	p.active.Store(s)
}

// TestLostWrites: a replica is promoted that lacks the last writes: a grant, and
// renewals. It quarantines the namespace, and no ID comes twice.
func TestLostWrites(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	ns := newNamespace(t, p.client(t), layout)
	early := run(generate(t, shortCoordinator(t, p.client(t), ns), lease()))
	early.more(t, 10)
	p.synced(t)
	p.link.Hang()
	// What comes now is confirmed and lost.
	unknown := run(generate(t, shortCoordinator(t, p.client(t), ns), lease()))
	unknown.more(t, 200)
	before := tickNow()
	p.a.Kill()
	p.promote(t, p.b)
	c := shortCoordinator(t, p.client(t), ns)
	g := acquireShort(t, c, capacity)
	if g.NotBefore < before+shortHorizon.Milliseconds() {
		t.Errorf("after a promotion at tick %d, %v was granted; want nothing before tick %d", before, g, before+shortHorizon.Milliseconds())
	}
	newcomer := run(generate(t, shortCoordinator(t, p.client(t), ns), lease()))
	for _, s := range []*stream{early, unknown, newcomer} {
		s.more(t, 500)
		s.stop(t, 500)
		t.Logf("without an ID for %v; first error: %v", s.pause, s.err)
	}
	wantUnique(t, early, unknown, newcomer)
}

// shortRequest is request with the horizon of these tests.
func shortRequest(n int) coord.Request {
	r := request(n)
	r.Until = r.Now + shortHorizon.Milliseconds()
	return r
}

// acquireShort acquires with such a request, and must succeed. The skew bound is short as
// well: a request that waited for a processor is made again, with the time that it is then.
func acquireShort(t *testing.T, c *redis.Coordinator, n int) (g coord.Grant) {
	t.Helper()
	eventually(t, "a request is in time", func() (ok bool) {
		var err error
		g, err = c.Acquire(within(t), shortRequest(n))
		if err != nil && !late(err) {
			t.Fatal(err)
		}
		return err == nil
	})
	return g
}

// late tells whether a call was refused because it took longer than the skew bound.
func late(err error) bool {
	return errors.Is(err, coord.ErrClockSkew) || strings.Contains(err.Error(), "too old; try again")
}

// TestFailback: A fails over to B and back again, without a restart. Of A, the second
// time, only the history of its data says that its last writes were lost.
func TestFailback(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	ns := newNamespace(t, p.client(t), layout)
	c := shortCoordinator(t, p.client(t), ns)
	acquireShort(t, c, capacity)
	p.synced(t)
	p.link.Hang()
	lost := acquireShort(t, c, capacity) // B never learns of it
	p.promote(t, p.b)                    // and is not used
	follow(t, p.a, p.b.Addr)
	p.promote(t, p.a)
	before := tickNow()
	g := acquireShort(t, shortCoordinator(t, p.client(t), ns), capacity) // which knows nothing of what was lost
	if g.NotBefore < before+shortHorizon.Milliseconds() {
		t.Errorf("%v was lost in a failover and back; then %v was granted, with no quarantine", lost, g)
	}
	if g.WorkerID != lost.WorkerID {
		t.Errorf("%v was lost, and then %v granted: nothing was lost, and the test proves nothing", lost, g)
	}
}

// TestCutOffMaster: a master that is cut off from its replica, and that is told to need
// one, confirms nothing any more.
func TestCutOffMaster(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	c := shortCoordinator(t, p.client(t), newNamespace(t, p.client(t), layout))
	g := acquireShort(t, c, 1)
	p.a.Do(t, "CONFIG", "SET", "min-replicas-to-write", 1)
	p.a.Do(t, "CONFIG", "SET", "min-replicas-max-lag", 1)
	eventually(t, "the master sees its replica", func() bool {
		return strings.Contains(p.a.Do(t, "INFO", "replication"), "min_slaves_good_slaves:1")
	})
	p.link.Hang()
	eventually(t, "the master stops", func() bool {
		h, err := c.Renew(within(t), g, g.NotAfter+1)
		if err == nil {
			g = h
			return false
		}
		if errors.Is(err, coord.ErrLeaseLost) || !late(err) && !strings.Contains(err.Error(), "NOREPLICAS") {
			t.Fatalf("Renew at a master that is cut off: %v", err)
		}
		return !late(err)
	})
	for what, err := range map[string]error{
		"Acquire": func() error { _, err := c.Acquire(within(t), shortRequest(2)); return err }(),
		"Release": c.Release(within(t), g, g.NotBefore),
	} {
		if err == nil || !strings.Contains(err.Error(), "NOREPLICAS") {
			t.Errorf("%s at a master that is cut off: %v", what, err)
		}
	}
}
