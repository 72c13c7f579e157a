package sqltest

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/sqlstore"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
)

// Wired runs the tests of what is on the wire to the server at addr. Connect makes so many
// connections to an address.
func Wired(t *testing.T, d *Database, addr string,
	connect func(tb testing.TB, addr string, conns int) sqlstore.Database,
) {
	for name, c := range map[string]struct {
		conns int
		run   func(wired, d *Database, p *proxytest.Proxy)
	}{
		"round trips": {1, trips}, "half": {1, half}, "sent once": {16, sentOnce},
	} {
		t.Run(name, func(t *testing.T) {
			p := proxytest.Start(t, addr)
			wired := d.On(t)
			wired.DB = connect(t, p.Addr, c.conns)
			c.run(wired, d.On(t), p)
		})
	}
}

// trips counts what operations are on the wire: how often something is sent after something was
// received. Each of their transactions is one round trip.
func trips(wired, _ *Database, p *proxytest.Proxy) {
	c := wired.New(newName())
	if err := c.Init(drivertest.Within(wired), drivertest.Space()); err != nil {
		wired.Fatal(err)
	}
	req := drivertest.Request(drivertest.Capacity)
	req.Identity = "pod"
	p.Trips()
	wantTrips := func(what string, want int) {
		wired.Helper()
		if n := p.Trips(); n != want {
			wired.Errorf("%s makes %d round trips; want %d", what, n, want)
		}
	}
	g := drivertest.MustAcquire(wired, c, req)
	wantTrips("Acquire", 3)
	g = c.mustRenew(g)
	wantTrips("Renew", 1)
	if err := c.Release(drivertest.Within(wired), g, g.NotBefore); err != nil {
		wired.Fatal(err)
	}
	wantTrips("Release", 1)
	req.Token = newName()
	if again := drivertest.MustAcquire(wired, c, req); again.WorkerID != g.WorkerID {
		wired.Errorf("the identity had %v, and gets %v", g, again)
	}
	wantTrips("Acquire of the same", 2)
}

// sentOnce breaks the connection of a change whose answer is under way: neither the store nor the
// client below it sends it again, so that no outcome needs to be told of a change that may have
// been done before. The renewal finds out what became of it, and the next one is not taken for that
// of a copy.
func sentOnce(wired, _ *Database, p *proxytest.Proxy) {
	c := wired.New(newName())
	g := c.mustAcquire(8)
	for range 5 {
		sent := 0
		p.Rob(1, func(request []byte) bool {
			change := bytes.Contains(request, []byte("UPDATE unalike_slots SET made"))
			if change {
				sent++
			}
			return change
		})
		if r, err := c.renew(g); errors.Is(err, coord.ErrLeaseLost) {
			wired.Fatal(r, err)
		}
		p.Restore()
		if sent != 1 {
			wired.Errorf("a renewal whose connection broke was sent %d times; want once", sent)
		}
		// less than the one before
		next, err := c.Renew(drivertest.Within(wired), g, g.NotAfter+500)
		if err != nil || next.NotAfter < g.NotAfter+500 {
			wired.Fatalf("the renewal after one whose connection broke: %v, %v", next, err)
		}
		g = next
	}
}

// half breaks the connection of a renewal in the middle of what it sends, and nobody tells the
// server. It waits for the rest, and has nothing locked meanwhile: others go on, and a floor is
// raised.
func half(wired, d *Database, p *proxytest.Proxy) {
	ns := newName()
	c := wired.New(ns)
	operator := d.New(ns)
	g := c.mustAcquire(2)
	cut := make(chan struct{})
	p.ForgetAt(func([]byte) bool { close(cut); return true }, 1)
	ctx, cancel := context.WithCancel(drivertest.Within(d))
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := c.Renew(ctx, g, g.NotAfter+1000)
		done <- err
	}()
	<-cut
	if _, err := operator.Quarantine(drivertest.Within(d), time.Now()); err != nil {
		d.Errorf("Quarantine: %v", err)
	}
	operator.mustRenew(fresh(g))
	cancel()
	if err := <-done; err == nil {
		d.Error("a renewal with half of it sent was answered")
	}
}
