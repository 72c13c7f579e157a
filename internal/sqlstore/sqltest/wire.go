package sqltest

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
)

// Wired runs the tests of what is on the wire to the server at addr. Connect returns a database
// with so many connections to an address.
func Wired(t *testing.T, d *Database, addr string, connect func(addr string, conns int) *Database) {
	for name, c := range map[string]struct {
		conns int
		run   func(t *testing.T, wired, d *Database, p *proxytest.Proxy)
	}{
		"round trips": {1, trips}, "half": {1, half}, "sent once": {16, sentOnce},
	} {
		t.Run(name, func(t *testing.T) {
			p := proxytest.Start(t, addr)
			c.run(t, connect(p.Addr, c.conns), d, p)
		})
	}
}

// trips counts what operations are on the wire: how often something is sent after something was
// received. Each of their transactions is one round trip.
func trips(t *testing.T, wired, _ *Database, p *proxytest.Proxy) {
	c := wired.New(t, newName())
	if err := c.Init(drivertest.Within(t), drivertest.Space()); err != nil {
		t.Fatal(err)
	}
	req := drivertest.Request(drivertest.Capacity)
	req.Identity = "pod"
	p.Trips()
	wantTrips := func(what string, want int) {
		t.Helper()
		if n := p.Trips(); n != want {
			t.Errorf("%s makes %d round trips; want %d", what, n, want)
		}
	}
	g := drivertest.MustAcquire(t, c, req)
	wantTrips("Acquire", 3)
	g = mustRenew(t, c, g)
	wantTrips("Renew", 1)
	if err := c.Release(drivertest.Within(t), g, g.NotBefore); err != nil {
		t.Fatal(err)
	}
	wantTrips("Release", 1)
	req.Token = newName()
	if again := drivertest.MustAcquire(t, c, req); again.WorkerID != g.WorkerID {
		t.Errorf("the identity had %v, and gets %v", g, again)
	}
	wantTrips("Acquire of the same", 2)
}

// sentOnce breaks the connection of a change whose answer is under way: neither the store nor the
// client below it sends it again, so that no outcome needs to be told of a change that may have
// been done before. The renewal finds out what became of it, and the next one is not taken for that
// of a copy.
func sentOnce(t *testing.T, wired, _ *Database, p *proxytest.Proxy) {
	c := wired.New(t, newName())
	g := mustAcquire(t, c, 8)
	for range 5 {
		sent := 0
		p.Rob(1, func(request []byte) bool {
			change := bytes.Contains(request, []byte("UPDATE unalike_slots SET made"))
			if change {
				sent++
			}
			return change
		})
		if r, err := renew(t, c, g); errors.Is(err, coord.ErrLeaseLost) {
			t.Fatal(r, err)
		}
		p.Restore()
		if sent != 1 {
			t.Errorf("a renewal whose connection broke was sent %d times; want once", sent)
		}
		// less than the one before
		next, err := c.Renew(drivertest.Within(t), g, g.NotAfter+500)
		if err != nil || next.NotAfter < g.NotAfter+500 {
			t.Fatalf("the renewal after one whose connection broke: %v, %v", next, err)
		}
		g = next
	}
}

// half breaks the connection of a renewal in the middle of what it sends, and nobody tells the
// server. It waits for the rest, and has nothing locked meanwhile: others go on, and a floor is
// raised.
func half(t *testing.T, wired, d *Database, p *proxytest.Proxy) {
	ns := newName()
	c := wired.New(t, ns)
	operator := d.New(t, ns)
	g := mustAcquire(t, c, 2)
	cut := make(chan struct{})
	p.ForgetAt(func([]byte) bool { close(cut); return true }, 1)
	ctx, cancel := context.WithCancel(drivertest.Within(t))
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := c.Renew(ctx, g, g.NotAfter+1000)
		done <- err
	}()
	<-cut
	if _, err := operator.Quarantine(drivertest.Within(t), time.Now()); err != nil {
		t.Errorf("Quarantine: %v", err)
	}
	mustRenew(t, operator, fresh(g))
	cancel()
	if err := <-done; err == nil {
		t.Error("a renewal with half of it sent was answered")
	}
}
