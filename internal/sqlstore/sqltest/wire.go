package sqltest

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
)

// Wire makes connections, and the test that is given it looks at what is sent and received on them.
type Wire struct {
	mu    sync.Mutex
	conns []net.Conn
	// sends is called with what is sent, and returns what gets through; nil: all does.
	sends func(c *wireConn, b []byte) []byte
	// hears is called when something was received, which is lost with an error; nil: nothing is.
	hears func(c *wireConn) error
}

// Dial connects.
func (w *Wire) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns = append(w.conns, conn)
	return &wireConn{Conn: conn, w: w}, nil
}

// watch sets what looks at the connections from now on.
func (w *Wire) watch(sends func(c *wireConn, b []byte) []byte, hears func(c *wireConn) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sends, w.hears = sends, hears
}

// wireConn is a connection of a wire.
type wireConn struct {
	net.Conn
	w    *Wire
	lost bool // something of it is; guarded by the wire's lock
}

// Write sends what gets through.
func (c *wireConn) Write(b []byte) (int, error) {
	c.w.mu.Lock()
	send := b
	if c.w.sends != nil {
		send = c.w.sends(c, b)
	}
	c.w.mu.Unlock()
	if _, err := c.Conn.Write(send); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Read receives what is not lost.
func (c *wireConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	if n > 0 && c.w.hears != nil {
		if lost := c.w.hears(c); lost != nil {
			return 0, lost
		}
	}
	return n, err
}

// Close leaves a connection open of which something is lost: the server does not hear of it.
func (c *wireConn) Close() error {
	c.w.mu.Lock()
	lost := c.lost
	c.w.mu.Unlock()
	if lost {
		return c.SetDeadline(time.Unix(1, 0)) // for who reads
	}
	return c.Conn.Close()
}

// Wired runs the tests of what is on the wire. Connect returns a database with so many connections
// over a wire.
func Wired(t *testing.T, d *Database, connect func(w *Wire, conns int) *Database) {
	t.Helper()
	t.Run("one round trip", func(t *testing.T) { w := new(Wire); oneRoundTrip(t, connect(w, 1), w) })
	t.Run("half", func(t *testing.T) { w := new(Wire); half(t, connect(w, 1), w, d) })
	t.Run("sent once", func(t *testing.T) { w := new(Wire); sentOnce(t, connect(w, 16), w) })
}

// oneRoundTrip counts what a transaction is on the wire: how often something is sent after
// something was received. D has one connection, which w has made.
func oneRoundTrip(t *testing.T, d *Database, w *Wire) {
	t.Helper()
	c, l := d.New(t, newName())
	g := drivertest.MustAcquire(t, c, drivertest.Request(8))
	flights, heard := 0, true
	w.watch(func(_ *wireConn, b []byte) []byte {
		if heard {
			flights++
		}
		heard = false
		return b
	}, func(*wireConn) error { heard = true; return nil })
	l.Trips()
	for range 5 {
		var err error
		if g, err = c.Renew(drivertest.Within(t), g, g.NotAfter+1000); err != nil {
			t.Fatal(err)
		}
		drivertest.MustAcquire(t, c, drivertest.Request(8))
	}
	w.watch(nil, nil)
	if n := l.Trips(); flights != n {
		t.Errorf("%d transactions are %d round trips", n, flights)
	}
}

// sentOnce breaks the connection of a change whose answer is under way: neither the store nor the
// client below it sends it again, so that no outcome needs to be told of a change that may have
// been done before. The renewal finds out what became of it, and the next one is not taken for that
// of a copy. D has connections that w has made.
func sentOnce(t *testing.T, d *Database, w *Wire) {
	t.Helper()
	c, _ := d.New(t, newName())
	g := drivertest.MustAcquire(t, c, drivertest.Request(8))
	for range 5 {
		var broken *wireConn
		sent := 0
		w.watch(func(c *wireConn, b []byte) []byte {
			if bytes.Contains(b, []byte("UPDATE unalike_slots SET made")) {
				if sent++; broken == nil {
					broken = c
				}
			}
			return b
		}, func(c *wireConn) error {
			if c != broken {
				return nil
			}
			_ = c.Conn.Close()
			return net.ErrClosed
		})
		// The server may have noticed in the middle of its answer, and undone it.
		if _, err := c.Renew(drivertest.Within(t), g, g.NotAfter+1000); errors.Is(err,
			coord.ErrLeaseLost) {
			t.Fatal(err)
		}
		w.watch(nil, nil)
		if sent != 1 {
			t.Errorf("a renewal whose connection broke was sent %d times; want once", sent)
		}
		next, err := c.Renew(drivertest.Within(t), g, g.NotAfter+500) // less than the one before
		if err != nil || next.NotAfter < g.NotAfter+500 {
			t.Fatalf("the renewal after one whose connection broke: %v, %v", next, err)
		}
		g = next
	}
}

// half breaks the connection of a renewal in the middle of what it sends, and nobody tells the
// server. It waits for the rest, and has nothing locked meanwhile: others go on, and a floor is
// raised. D has connections that w has made.
func half(t *testing.T, d *Database, w *Wire, others *Database) {
	t.Helper()
	t.Cleanup(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, c := range w.conns {
			_ = c.Close()
		}
	})
	ns := newName()
	c, _ := d.New(t, ns)
	operator, _ := others.New(t, ns)
	g := drivertest.MustAcquire(t, c, drivertest.Request(2))
	cut, armed := make(chan struct{}), true
	w.watch(func(c *wireConn, b []byte) []byte {
		switch {
		case c.lost:
			return nil
		case armed:
			armed, c.lost = false, true
			close(cut)
			return b[:len(b)-1]
		}
		return b
	}, nil)
	ctx, cancel := context.WithCancel(drivertest.Within(t))
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if r, err := c.Renew(ctx, g, g.NotAfter+1000); err == nil {
			t.Errorf("Renew with half of it sent: %v", r)
		}
	}()
	<-cut
	if _, err := operator.Quarantine(drivertest.Within(t), time.Now()); err != nil {
		t.Errorf("Quarantine: %v", err)
	}
	if r, err := operator.Renew(drivertest.Within(t), fresh(g), g.NotAfter+500); err != nil ||
		r.NotAfter != g.NotAfter+500 {
		t.Errorf("Renew of the same worker ID on another connection: %v, %v", r, err)
	}
	cancel()
	<-done
}
