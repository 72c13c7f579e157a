package sqltest

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
)

// Broken makes connections of which one breaks when the server answers to a change.
type Broken struct {
	mu    sync.Mutex
	armed bool // the next change is the one
	sent  int  // changes
}

// Dial connects.
func (b *Broken) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &broken{Conn: conn, b: b}, nil
}

type broken struct {
	net.Conn
	b    *Broken
	lost bool // guarded by b.mu: what comes next is
}

// Write counts changes.
func (c *broken) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("UPDATE unalike_slots SET made")) {
		c.b.mu.Lock()
		c.b.sent++
		c.lost, c.b.armed = c.lost || c.b.armed, false
		c.b.mu.Unlock()
	}
	return c.Conn.Write(p)
}

// Read loses an answer, and ends the connection with it.
func (c *broken) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.b.mu.Lock()
	defer c.b.mu.Unlock()
	if c.lost {
		_ = c.Conn.Close()
		return 0, net.ErrClosed
	}
	return n, err
}

// SentOnce breaks the connection of a change whose answer is under way: neither the store nor the
// client below it sends it again, so that no outcome needs to be told of a change that may have been
// done before. The renewal finds out what became of it, and the next one is not taken for that of a
// copy. D has connections that b has made.
func SentOnce(t *testing.T, d *Database, b *Broken) {
	t.Helper()
	c, _ := d.New(t, newName())
	g := drivertest.MustAcquire(t, c, drivertest.Request(8))
	for range 5 {
		b.mu.Lock()
		b.armed, b.sent = true, 0
		b.mu.Unlock()
		// The server may have noticed in the middle of its answer, and undone it.
		if _, err := c.Renew(drivertest.Within(t), g, g.NotAfter+1000); errors.Is(err, coord.ErrLeaseLost) {
			t.Fatal(err)
		}
		b.mu.Lock()
		if b.armed || b.sent != 1 {
			t.Errorf("a renewal whose connection broke (%t) was sent %d times; want once", !b.armed, b.sent)
		}
		b.mu.Unlock()
		next, err := c.Renew(drivertest.Within(t), g, g.NotAfter+500) // less than the one before
		if err != nil || next.NotAfter < g.NotAfter+500 {
			t.Fatalf("the renewal after one whose connection broke: %v, %v", next, err)
		}
		g = next
	}
}
