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
	"github.com/unalike-id/unalike/internal/sqlstore"
)

// CopyIsTold has a process and its copy renew one grant: one of them is told that it has lost it,
// and the other one goes on.
func CopyIsTold(t *testing.T, d *Database) {
	t.Helper()
	for name, end := range map[string]func(c coord.Coordinator, g coord.Grant) error{
		"renew": func(c coord.Coordinator, g coord.Grant) error {
			_, err := c.Renew(drivertest.Within(t), g, g.NotAfter+1000)
			return err
		},
		"release": func(c coord.Coordinator, g coord.Grant) error {
			return c.Release(drivertest.Within(t), g, g.NotAfter-1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			ns := newName()
			p, _ := d.New(t, ns)
			q, _ := d.New(t, ns)
			told := drivertest.MustAcquire(t, p, drivertest.Request(8))
			stays := fresh(told)
			renew := func() {
				t.Helper()
				var err error
				if stays, err = q.Renew(drivertest.Within(t), stays, stays.NotAfter+1); err != nil {
					t.Fatal(err)
				}
			}
			renew()
			if err := end(p, told); !errors.Is(err, coord.ErrLeaseLost) {
				t.Fatalf("the copy of a holder has extended its window, and %s is %v", name, err)
			}
			for range 3 {
				renew()
			}
		})
	}
}

// twice sends each transaction that writes once more, and loses the first answer.
type twice struct{ sqlstore.DB }

// Transact implements [sqlstore.DB].
func (d twice) Transact(ctx context.Context, write bool, s []sqlstore.Statement) ([][]string, error) {
	if write {
		_, _ = d.DB.Transact(ctx, write, s) // somebody between the client and the server has tried it before
	}
	return d.DB.Transact(ctx, write, s)
}

// SentTwice sends each change twice, as somebody between the client and the server may: no call is
// taken for that of a copy, and none is done twice.
func SentTwice(t *testing.T, d *Database) {
	t.Helper()
	ns := newName()
	c, link := d.New(t, ns)
	if err := c.Init(drivertest.Within(t), drivertest.Space()); err != nil {
		t.Fatal(err)
	}
	link.To(twice{d.DB})
	for generation := range uint64(3) {
		g := drivertest.MustAcquire(t, c, drivertest.Request(1))
		if g.Generation != generation+1 {
			t.Errorf("%v was granted; want generation %d", g, generation+1)
		}
		for range 3 {
			next, err := c.Renew(drivertest.Within(t), g, g.NotAfter+10)
			if err != nil || next.NotAfter != g.NotAfter+10 {
				t.Fatalf("Renew of %v: %v, %v", g, next, err)
			}
			g = next
		}
		if err := c.Release(drivertest.Within(t), g, g.NotAfter); err != nil {
			t.Fatal(err)
		}
	}
}

// Overtaken has a renewal overtake another one of the same process, and a release: it is not that
// of a copy.
func Overtaken(t *testing.T, d *Database) {
	t.Helper()
	for name, call := range map[string]func(c coord.Coordinator, g coord.Grant) error{
		"renew": func(c coord.Coordinator, g coord.Grant) error {
			_, err := c.Renew(drivertest.Within(t), g, g.NotAfter+1)
			return err
		},
		"release": func(c coord.Coordinator, g coord.Grant) error {
			return c.Release(drivertest.Within(t), g, g.NotBefore)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, link := d.New(t, newName())
			g := drivertest.MustAcquire(t, c, drivertest.Request(8))
			overtook := link.Before(1, func() {
				if _, err := c.Renew(drivertest.Within(t), g, g.NotAfter+10); err != nil {
					t.Error(err)
				}
			})
			if err := call(c, g); err != nil {
				t.Error(err)
			}
			if !overtook() {
				t.Error("nothing was overtaken")
			}
		})
	}
}

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
