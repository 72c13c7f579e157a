package redis_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
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
	servers.Primary.Kill()
	eventually(t, "the replica is promoted", func() bool { return role(servers.Replica.Client(t)) == "master" })
	newcomer := run(generate(t, shortCoordinator(t, servers.Client(t), ns), lease()))
	servers.Primary.Restart(t) // it comes back, and follows the one that took its place
	eventually(t, "the old primary is a replica", func() bool { return role(servers.Primary.Client(t)) == "slave" })
	stop(t, append(streams, newcomer)...)
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
	ahead  map[string]time.Duration // by how much the servers' clocks are
}

// newPair returns a pair in which b follows a.
func newPair(t *testing.T) *pair {
	t.Helper()
	p := newPairApart(t)
	follow(t, p.b, p.link.Addr)
	return p
}

// newPairApart returns a pair of which none follows the other.
func newPairApart(t *testing.T) *pair {
	t.Helper()
	o := redistest.Options{Args: []string{"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"}}
	p := &pair{a: redistest.Start(t, o), b: redistest.Start(t, o)}
	p.link = proxytest.Start(t, p.a.Addr)
	p.active.Store(p.a)
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

// set sets the clocks of the servers, as coordinators of the pair see them.
func (p *pair) set(a, b time.Duration) {
	p.ahead = map[string]time.Duration{}
	for s, d := range map[*redistest.Server]time.Duration{p.a: a, p.b: b} {
		_, port, _ := net.SplitHostPort(s.Addr)
		p.ahead[port] = d
	}
}

// coordinator returns a coordinator of the pair, with a short horizon.
func (p *pair) coordinator(t *testing.T, ns string) *redis.Coordinator {
	t.Helper()
	c := shortCoordinator(t, p.client(t), ns)
	c.SetClocks(p.ahead)
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

// replace kills a, and has b take its place, with what it has.
func (p *pair) replace(t *testing.T) {
	t.Helper()
	p.a.Kill()
	p.promote(t, p.b)
}

// TestLostWrites: a replica is promoted that lacks the last writes, a grant and renewals, and whose
// clock, or that of the master before it, is almost as far from the callers' as it may be. It
// quarantines the namespace, and no ID comes twice.
func TestLostWrites(t *testing.T) {
	t.Parallel()
	const apart = 900 * time.Millisecond
	clocks := [][2]time.Duration{{0, 0}, {apart, 0}, {0, -apart}, {-apart, 0}, {0, apart}}
	atOnce := make(chan struct{}, 3)
	for n := range fulltest.Rounds(3, 50) {
		ahead := clocks[n%len(clocks)]
		t.Run(fmt.Sprint(n, ahead), func(t *testing.T) {
			t.Parallel()
			atOnce <- struct{}{}
			defer func() { <-atOnce }()
			p := newPair(t)
			p.set(ahead[0], ahead[1])
			ns := newNamespace(t, p.client(t), layout)
			streams := []*stream{run(generate(t, p.coordinator(t, ns), lease()))}
			streams[0].more(t, 10)
			p.synced(t)
			p.link.Hang()
			// What comes now is confirmed and lost.
			streams = append(streams, run(generate(t, p.coordinator(t, ns), lease())))
			streams[1].more(t, 200)
			p.replace(t)
			stop(t, append(streams, run(generate(t, p.coordinator(t, ns), lease())))...)
		})
	}
}

// TestWrongMaster: a master whose clock alone is wrong is not believed, and nothing is written.
func TestWrongMaster(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{-time.Hour, time.Hour} {
		p := newPair(t)
		p.set(0, ahead)
		ns := newNamespace(t, p.client(t), layout)
		c := p.coordinator(t, ns)
		g := acquireShort(t, c, 2)
		p.synced(t)
		p.replace(t)
		had := func() string { return p.b.Do(t, "HMGET", redis.KeyOf(ns), "n", "meta", "origin") + p.b.Do(t, "DBSIZE") }
		before := had()
		for what, call := range map[string]func() error{
			"Renew":      func() error { _, err := c.Renew(within(t), g, g.NotAfter+1); return err },
			"Acquire":    func() error { _, err := c.Acquire(within(t), shortRequest(2)); return err },
			"Quarantine": func() error { _, err := c.Quarantine(within(t), time.Time{}); return err },
			"a start":    func() error { _, err := p.coordinator(t, "new").Acquire(within(t), shortRequest(2)); return err },
		} {
			err := call()
			for n := 0; n < 3 && err != nil && !errors.Is(err, coord.ErrClockSkew); n++ { // its connection was to the other one
				err = call()
			}
			if !errors.Is(err, coord.ErrClockSkew) {
				t.Errorf("%s, with a clock that is %v ahead: %v; want %v", what, ahead, err, coord.ErrClockSkew)
			}
		}
		if now := had(); now != before {
			t.Errorf("a master that is %v ahead has %s; it had %s", ahead, now, before)
		}
	}
}

// TestStoppedInBetween: a process has looked at the old master, and is stopped before it writes for
// longer than the quarantine that the new one needs. What it decided is not written there.
func TestStoppedInBetween(t *testing.T) {
	t.Parallel()
	for _, what := range []string{`"write"`, `"settles"`} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := newPair(t)
			i := &interrupter{client: p.client(t)}
			i.client.AddHook(i)
			ns := newNamespace(t, p.client(t), layout)
			c, other := shortCoordinator(t, i.client, ns), shortCoordinator(t, p.client(t), ns)
			mustRelease(t, c, acquireShort(t, c, 2))
			if what == `"settles"` {
				elsewhere(t, p.a.Client(t), ns) // a first loss, which it has noticed
			}
			p.synced(t)
			var all []coord.Grant
			acted := i.before(1, what, func() {
				p.link.Hang()
				all = append(all, acquireShort(t, shortCoordinator(t, p.a.Client(t), ns), 2)) // which is lost
				p.replace(t)
				for range 2 {
					g := acquireShort(t, other, 2)
					eventually(t, "the quarantine is over", func() bool { return tickNow() > g.NotBefore })
					g, err := other.Renew(within(t), g, g.NotAfter+1000)
					if err != nil {
						t.Error(err)
					}
					all = append(all, g)
					mustRelease(t, other, g)
				}
			})
			g, err := c.Acquire(within(t), shortRequest(2))
			for n := 0; n < 3 && err != nil; n++ { // its connection was to the other one
				g, err = c.Acquire(within(t), shortRequest(2))
			}
			if err != nil || !acted() {
				t.Fatal(g, err)
			}
			for _, h := range all[:1] {
				if h.WorkerID == g.WorkerID && g.NotBefore < h.NotAfter || g.NotBefore < metaOf(t, p.b.Client(t), ns).Floor {
					t.Errorf("%v was granted beside %v", g, h)
				}
			}
		})
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
	refused := func(err error) bool { return err != nil && strings.Contains(err.Error(), "NOREPLICAS") }
	eventually(t, "the master stops", func() bool {
		h, err := c.Renew(within(t), g, g.NotAfter+1)
		if err == nil {
			g = h
		} else if !refused(err) {
			t.Fatalf("Renew at a master that is cut off: %v", err)
		}
		return err != nil
	})
	if _, err := c.Acquire(within(t), shortRequest(2)); !refused(err) {
		t.Errorf("Acquire at a master that is cut off: %v", err)
	}
}
