package sqltest

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/drivertest"
)

// Severed makes connections that break in the middle of a message: nobody tells the server.
type Severed struct {
	mu    sync.Mutex
	armed bool
	cut   chan struct{} // closed when it has happened
	conns []net.Conn
}

// Dial connects.
func (s *Severed) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = append(s.conns, conn)
	return &severed{Conn: conn, s: s}, nil
}

type severed struct {
	net.Conn
	s    *Severed
	lost bool // nothing gets through any more
}

// Write loses the end of a message and everything after it.
func (c *severed) Write(b []byte) (int, error) {
	c.s.mu.Lock()
	if c.lost {
		c.s.mu.Unlock()
		return len(b), nil
	}
	send := b
	if c.s.armed {
		c.s.armed, c.lost, send = false, true, b[:len(b)-1]
		defer close(c.s.cut)
	}
	c.s.mu.Unlock()
	if _, err := c.Conn.Write(send); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Close leaves a connection open that is lost: the server does not hear of it.
func (c *severed) Close() error {
	c.s.mu.Lock()
	lost := c.lost
	c.s.mu.Unlock()
	if lost {
		return c.SetDeadline(time.Unix(1, 0)) // for who reads
	}
	return c.Conn.Close()
}

// Half breaks the connection of a renewal in the middle of what it sends. The server waits for
// the rest, and has nothing locked meanwhile: others go on, and a floor is raised. D has
// connections that s has made.
func Half(t *testing.T, d *Database, s *Severed, others *Database) {
	t.Helper()
	s.cut = make(chan struct{})
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, c := range s.conns {
			_ = c.Close()
		}
	})
	ns := newName()
	c, _ := d.New(t, ns)
	operator, _ := others.New(t, ns)
	g := drivertest.MustAcquire(t, c, drivertest.Request(2))
	s.mu.Lock()
	s.armed = true
	s.mu.Unlock()
	ctx, cancel := context.WithCancel(drivertest.Within(t))
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if r, err := c.Renew(ctx, g, g.NotAfter+1000); err == nil {
			t.Errorf("Renew with half of it sent: %v", r)
		}
	}()
	<-s.cut
	if _, err := operator.Quarantine(drivertest.Within(t), time.Now()); err != nil {
		t.Errorf("Quarantine: %v", err)
	}
	if r, err := operator.Renew(drivertest.Within(t), fresh(g), g.NotAfter+500); err != nil || r.NotAfter != g.NotAfter+500 {
		t.Errorf("Renew of the same worker ID on another connection: %v, %v", r, err)
	}
	cancel()
	<-done
}
