package sqltest

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
)

// Flights counts how often something is sent on connections after something was received: the
// round trips that a client makes.
type Flights struct {
	mu    sync.Mutex
	n     int
	heard bool
}

// Dial connects.
func (f *Flights) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	return &flight{conn, f}, err
}

type flight struct {
	net.Conn
	f *Flights
}

func (c *flight) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.f.mu.Lock()
		defer c.f.mu.Unlock()
		c.f.heard = true
	}
	return n, err
}

func (c *flight) Write(b []byte) (int, error) {
	c.f.mu.Lock()
	if c.f.heard {
		c.f.n++
	}
	c.f.heard = false
	c.f.mu.Unlock()
	return c.Conn.Write(b)
}

// OneRoundTrip counts what a transaction is on the wire. D has one connection, which f has
// made.
func OneRoundTrip(t *testing.T, d *Database, f *Flights) {
	t.Helper()
	c, l := d.New(t, newName())
	g := drivertest.MustAcquire(t, c, drivertest.Request(8))
	f.mu.Lock()
	f.n = 0
	f.mu.Unlock()
	l.Trips()
	for range 5 {
		var err error
		if g, err = c.Renew(drivertest.Within(t), g, g.NotAfter+1000); err != nil {
			t.Fatal(err)
		}
		drivertest.MustAcquire(t, c, drivertest.Request(8))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := l.Trips(); f.n != n {
		t.Errorf("%d transactions are %d round trips", n, f.n)
	}
}
