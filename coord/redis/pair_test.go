package redis_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// pair is two servers, of which a client of the pair uses one, and a link between them
// over which the second can follow the first.
type pair struct {
	a, b   *redistest.Server
	link   *proxytest.Proxy // to a
	active atomic.Pointer[redistest.Server]
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
	o := redistest.Options{Args: []string{
		"--repl-diskless-sync-delay", "0",
		"--repl-ping-replica-period", "1",
	}}
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
