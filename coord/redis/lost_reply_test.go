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
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/internal/drivertest"
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

// lossy is a coordinator behind a proxy. Each of its calls is one request.
func lossy(t *testing.T) *drivertest.Lossy {
	t.Helper()
	c, proxy, _ := behindProxy(t)
	return &drivertest.Lossy{
		Coordinator: c,
		Lose:        func(coordtest.Op, bool) { proxy.Swallow() },
		Heal:        func() int { proxy.Heal(); return 1 },
	}
}

func TestLostReplyOnAcquire(t *testing.T) {
	t.Parallel()
	drivertest.LostRepliesOnAcquire(t, lossy(t))
}

func TestLostReplyOnRenew(t *testing.T) {
	t.Parallel()
	drivertest.LostRepliesOnRenew(t, lossy(t))
}

func TestLostReplyOnRelease(t *testing.T) {
	t.Parallel()
	drivertest.LostRepliesOnRelease(t, lossy(t))
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
	owned, err := coord.Open(within(t), "redis://"+proxy.Addr+"/0?namespace=closing", coord.OpenOptions{})
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
