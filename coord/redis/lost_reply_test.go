package redis_test

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// behindProxy returns a coordinator whose network misbehaves on demand, and a client
// of the same server whose network does not.
func behindProxy(t *testing.T) (*redis.Coordinator, *proxytest.Proxy, *goredis.Client) {
	t.Helper()
	server := redistest.Start(t, redistest.Options{})
	proxy := proxytest.Start(t, server.Addr)
	direct := server.Client(t)
	ns := newNamespace(t, direct, layout)
	c := newCoordinator(t, redistest.Connect(t, proxy.Addr, ""), ns, nil)
	// After this the server knows the scripts, and a call is one request.
	g, err := c.Renew(within(t), mustAcquire(t, c, request(capacity)), 0)
	if err != nil {
		t.Fatal(err)
	}
	mustRelease(t, c, g)
	return c, proxy, direct
}

func mustRelease(t *testing.T, c *redis.Coordinator, g coord.Grant) {
	t.Helper()
	if err := c.Release(within(t), g, g.NotBefore); err != nil {
		t.Fatal(err)
	}
}

// hurried returns a context for a call whose reply is lost. It is long enough for the
// request to get through on a slow machine, and all of it is waited for.
func hurried(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 9*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// held returns how many worker IDs are held.
func held(t *testing.T, c *redis.Coordinator) int {
	t.Helper()
	slots, err := c.List(within(t))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, s := range slots {
		if s.State == coord.SlotHeld {
			n++
		}
	}
	return n
}

// TestLostReplyOnAcquire: the call fails, and the next one with the same token finds
// the same grant.
func TestLostReplyOnAcquire(t *testing.T) {
	t.Parallel()
	c, proxy, _ := behindProxy(t)
	proxy.Swallow()
	req := request(capacity)
	if g, err := c.Acquire(hurried(t), req); err == nil || coord.Permanent(err) {
		t.Fatalf("Acquire without a reply: %v, %v", g, err)
	}
	proxy.Heal()
	if n := held(t, c); n != 1 {
		t.Fatalf("%d worker IDs are held; want 1: the request got through", n)
	}
	g := mustAcquire(t, c, req)
	if n := held(t, c); n != 1 || g.Generation != 2 || g.NotAfter != req.Until {
		t.Errorf("Acquire with the same token: %v, %d worker IDs are held; want generation 2, until %d, 1", g, n, req.Until)
	}
}

// TestLostReplyOnRenew: the call fails and says nothing definite, and a renewal of the
// old grant goes on from what was stored.
func TestLostReplyOnRenew(t *testing.T) {
	t.Parallel()
	c, proxy, _ := behindProxy(t)
	g := mustAcquire(t, c, request(1))
	proxy.Swallow()
	if h, err := c.Renew(hurried(t), g, g.NotAfter+2000); err == nil || errors.Is(err, coord.ErrLeaseLost) {
		t.Fatalf("Renew without a reply: %v, %v; want an error that is not definite", h, err)
	}
	proxy.Heal()
	h, err := c.Renew(within(t), g, g.NotAfter+1000)
	if err != nil || h.NotAfter != g.NotAfter+2000 || h.NotBefore != g.NotBefore {
		t.Errorf("Renew of %v until %d after a lost one until %d: %v, %v", g, g.NotAfter+1000, g.NotAfter+2000, h, err)
	}
}

// TestLostReplyOnRelease: the call fails, asking again says that the grant is over,
// and the worker ID is free.
func TestLostReplyOnRelease(t *testing.T) {
	t.Parallel()
	c, proxy, _ := behindProxy(t)
	g := mustAcquire(t, c, request(1))
	proxy.Swallow()
	if err := c.Release(hurried(t), g, g.NotBefore+1); err == nil {
		t.Fatal("Release without a reply returned no error")
	}
	proxy.Heal()
	if err := c.Release(within(t), g, g.NotBefore+1); !errors.Is(err, coord.ErrLeaseLost) {
		t.Errorf("Release again: %v; want %v", err, coord.ErrLeaseLost)
	}
	if h := mustAcquire(t, c, request(1)); h.NotBefore != g.NotBefore+1 {
		t.Errorf("%v was released at %d, the next is %v", g, g.NotBefore+1, h)
	}
}

// signalling is a connection that tells when something was sent.
type signalling struct {
	net.Conn
	sent chan<- struct{}
}

func (s signalling) Write(p []byte) (int, error) {
	n, err := s.Conn.Write(p)
	select {
	case s.sent <- struct{}{}:
	default:
	}
	return n, err
}

// TestCancelWhileHanging: a call ends when its context is cancelled, although the
// client waits for an answer and does not notice that.
func TestCancelWhileHanging(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	proxy := proxytest.Start(t, server.Addr)
	sent := make(chan struct{}, 1)
	client := goredis.NewClient(&goredis.Options{
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", proxy.Addr)
			return signalling{conn, sent}, err
		},
		MaxRetries: -1, ContextTimeoutEnabled: true, Protocol: 2,
		ReadTimeout: 2 * patience, // the call is not over by itself
	})
	t.Cleanup(func() { _ = client.Close() })
	c := newCoordinator(t, client, newNamespace(t, client, layout), nil)
	mustAcquire(t, c, request(1)) // connected
	for len(sent) > 0 {
		<-sent
	}
	proxy.Hang()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := c.Acquire(ctx, request(1)); done <- err }()
	<-sent
	began := time.Now()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Acquire, cancelled: %v", err)
	}
	if took := time.Since(began); took > callTime {
		t.Errorf("Acquire ended %v after it was cancelled", took)
	}
	proxy.Refuse()
	eventually(t, "what was left behind ends", func() bool {
		b := make([]byte, 4<<20)
		return !strings.Contains(string(b[:runtime.Stack(b, true)]), "coord/redis.(*Coordinator).call")
	})
}

// TestCloseWhileHanging: Close ends calls under way.
func TestCloseWhileHanging(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	proxy := proxytest.Start(t, server.Addr)
	owned, err := coord.Open(within(t), "redis://"+proxy.Addr+"/0?namespace=closing")
	if err != nil {
		t.Fatal(err)
	}
	borrowed := newCoordinator(t, redistest.Connect(t, proxy.Addr, ""), "closing", nil)
	proxy.Hang()
	for name, c := range map[string]coord.Coordinator{"a client of its own": owned, "a client that was passed in": borrowed} {
		done := make(chan error, 1)
		go func() { _, err := c.Acquire(t.Context(), request(1)); done <- err }()
		select {
		case err := <-done:
			t.Fatalf("%s: Acquire ended: %v", name, err)
		case <-time.After(50 * time.Millisecond): // most likely it is under way; if not, it is refused
		}
		began := time.Now()
		if err := c.Close(); err != nil {
			t.Errorf("%s: Close: %v", name, err)
		}
		if err := <-done; !errors.Is(err, coord.ErrClosed) {
			t.Errorf("%s: Acquire while Close: %v; want %v", name, err, coord.ErrClosed)
		}
		if took := time.Since(began); took > callTime {
			t.Errorf("%s: Close took %v", name, took)
		}
	}
}
