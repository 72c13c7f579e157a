package redis_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// slowNetwork lets what a server answers arrive late, or not before it is let go. It
// counts connections and requests.
type slowNetwork struct {
	server string
	delay  atomic.Int64 // nanoseconds
	conns  atomic.Int64
	sent   atomic.Int64

	mu   sync.Mutex
	held chan struct{} // closed when answers are let go; nil: they are not held
}

// hold keeps answers back until the function is called that it returns.
func (n *slowNetwork) hold() (release func()) {
	held := make(chan struct{})
	n.mu.Lock()
	n.held = held
	n.mu.Unlock()
	return sync.OnceFunc(func() { close(held) })
}

// free returns a channel that is closed when answers may arrive.
func (n *slowNetwork) free() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.held == nil {
		n.held = make(chan struct{})
		close(n.held)
	}
	return n.held
}

// slowConn is a connection on which answers are late, but not in each other's way.
type slowConn struct {
	net.Conn
	network *slowNetwork

	answers chan answer
	rest    []byte
	err     error

	mu       sync.Mutex
	deadline time.Time
}

// answer is what arrived, and when it is to be seen.
type answer struct {
	bytes []byte
	at    time.Time
	err   error
}

func (n *slowNetwork) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", n.server)
	if err != nil {
		return nil, err
	}
	n.conns.Add(1)
	c := &slowConn{Conn: conn, network: n, answers: make(chan answer, 1000)}
	go func() {
		for {
			b := make([]byte, 4096)
			k, err := conn.Read(b)
			c.answers <- answer{b[:k], time.Now().Add(time.Duration(n.delay.Load())), err}
			if err != nil {
				return
			}
		}
	}()
	return c, nil
}

// Read returns what has arrived and is to be seen by now.
func (c *slowConn) Read(b []byte) (int, error) {
	c.mu.Lock()
	end := c.deadline
	c.mu.Unlock()
	ctx, cancel := context.Background(), func() {}
	if !end.IsZero() {
		ctx, cancel = context.WithDeadline(ctx, end)
	}
	defer cancel()
	for len(c.rest) == 0 {
		if c.err != nil {
			return 0, c.err
		}
		select {
		case <-ctx.Done():
			return 0, context.DeadlineExceeded
		case a := <-c.answers:
			late := time.NewTimer(time.Until(a.at))
			defer late.Stop()
			for _, until := range []func() bool{
				func() bool { return arrived(ctx, late.C) }, func() bool { return arrived(ctx, c.network.free()) },
			} {
				if !until() { // the client cuts the connection: it was not in time
					return 0, context.DeadlineExceeded
				}
			}
			c.rest, c.err = a.bytes, a.err
		}
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// arrived waits for something, and reports whether it came before the context ended.
func arrived[T any](ctx context.Context, what <-chan T) bool {
	select {
	case <-ctx.Done():
		return false
	case <-what:
		return true
	}
}

func (c *slowConn) Write(b []byte) (int, error) {
	defer c.network.sent.Add(1)
	return c.Conn.Write(b)
}

// SetReadDeadline is for Read; what waits for the server itself needs none.
func (c *slowConn) SetReadDeadline(end time.Time) error {
	c.mu.Lock()
	c.deadline = end
	c.mu.Unlock()
	return nil
}

func (c *slowConn) SetDeadline(end time.Time) error {
	_ = c.SetReadDeadline(end)
	return c.SetWriteDeadline(end)
}

// slowly returns a coordinator behind a slow network.
func slowly(t *testing.T) (*redis.Coordinator, *slowNetwork) {
	t.Helper()
	server := redistest.Start(t, redistest.Options{})
	network := &slowNetwork{server: server.Addr}
	client := goredis.NewClient(&goredis.Options{
		Dialer: network.dial, MaxRetries: -1, ContextTimeoutEnabled: true, DialerRetries: 1, Protocol: 2,
		ReadTimeout: -1, WriteTimeout: -1,
	})
	t.Cleanup(func() { _ = client.Close() })
	return newCoordinator(t, client, newNamespace(t, server.Client(t), layout), nil), network
}

// TestSlowRedis: a Redis that takes long for each answer serves, with all the time that a
// call has, on the connection that there is.
func TestSlowRedis(t *testing.T) {
	t.Parallel()
	c, network := slowly(t)
	network.delay.Store(int64(time.Duration(fulltest.Rounds(300, 3000)) * time.Millisecond))
	g := mustAcquire(t, c, request(1))
	for range 3 {
		h, err := c.Renew(within(t), g, g.NotAfter+10)
		if err != nil || h.NotAfter != g.NotAfter+10 {
			t.Fatalf("Renew: %v, %v", h, err)
		}
		g = h
	}
	mustRelease(t, c, g)
	if n := network.conns.Load(); n != 1 {
		t.Errorf("%d connections were made; want 1", n)
	}
}

// TestHiccup: an answer comes after the call has ended. Its connection is good for the
// next call, and nothing of what was done is lost.
func TestHiccup(t *testing.T) {
	t.Parallel()
	c, network := slowly(t)
	g := mustAcquire(t, c, request(1))
	if _, err := c.Renew(within(t), g, g.NotAfter); err != nil { // the server knows the script
		t.Fatal(err)
	}
	sent, release := network.sent.Load(), network.hold()
	defer release()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if h, err := c.Renew(ctx, g, g.NotAfter+10); err == nil || network.sent.Load() == sent {
		t.Fatalf("Renew without an answer: %v, %v; the request was sent: %t", h, err, network.sent.Load() > sent)
	}
	release()
	eventually(t, "the late answer comes", func() bool { return c.IdleConnections() == 1 })
	h, err := c.Renew(within(t), g, g.NotAfter)
	if err != nil || h.NotAfter != g.NotAfter+10 {
		t.Errorf("Renew after it: %v, %v; want the end at %d, which was stored", h, err, g.NotAfter+10)
	}
	if n := network.conns.Load(); n != 1 {
		t.Errorf("%d connections were made; want 1", n)
	}
}

// TestCallsAreNotCut: a call has the time that its context has, and one without a deadline
// has longer than a slow server needs.
func TestCallsAreNotCut(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	for _, url := range []string{"redis://" + server.Addr + "/0?namespace=ns", "redis-sentinel://" + server.Addr + "/m/0?namespace=ns", "redis-cluster://" + server.Addr + "?namespace=ns"} {
		c, err := coord.Open(within(t), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if w := c.(coord.Warner).Warnings(); w != nil {
			t.Errorf("%s: warnings %q", url, w)
		}
		if read, write, dial := c.(*redis.Coordinator).ClientTimeouts(); read > 0 || write > 0 || dial < 9*time.Second {
			t.Errorf("%s: timeouts of the client are %v, %v and %v; want none but that of a dial, which has time for three slow answers", url, read, write, dial)
		}
	}
}

// TestClientThatCutsCalls: a client that gives calls less time than they have is warned
// about.
func TestClientThatCutsCalls(t *testing.T) {
	for timeout, warns := range map[time.Duration]bool{0: true, time.Second: true, -1: false, time.Minute: false} {
		single := goredis.NewClient(&goredis.Options{Addr: "localhost:1", MaxRetries: -1, ContextTimeoutEnabled: true, ReadTimeout: timeout})
		cluster := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{"localhost:1"}, ContextTimeoutEnabled: true, ReadTimeout: timeout})
		for _, client := range []goredis.UniversalClient{single, cluster} {
			t.Cleanup(func() { _ = client.Close() })
			if w := newCoordinator(t, client, "ns", nil).Warnings(); (len(w) == 1) != warns {
				t.Errorf("%T with a ReadTimeout of %v: warnings %q; want one: %t", client, timeout, w, warns)
			}
		}
	}
}
