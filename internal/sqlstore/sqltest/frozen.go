package sqltest

import (
	"log/slog"
	"strings"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/sqlstore"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// Frozen makes a server read-only, as an operator does: it writes for nobody, also not for a user
// whom it would let, because others may write to another server meanwhile.
func (d *Database) Frozen(freeze, thaw []string) {
	d.Helper()
	ns, c, g := d.granted()
	d.Do(freeze...)
	streamtest.Eventually(d, "the server is frozen", func() bool {
		_, err := c.renew(g)
		return err != nil
	})
	slot := func() string {
		return d.Text("SELECT record FROM unalike_slots WHERE namespace = '%s' AND worker = %d", ns,
			g.WorkerID)
	}
	before := slot()
	wants := func(what string, err error) {
		d.Helper()
		if err == nil || coord.Permanent(err) || !strings.Contains(err.Error(), "read-only") {
			d.Errorf("%s on a frozen server: %v; want an error that may pass", what, err)
		}
	}
	_, err := c.Renew(drivertest.Within(d), g, g.NotAfter+5000)
	wants("Renew", err)
	newcomer := d.New(ns)
	_, err = newcomer.acquire(2)
	wants("Acquire", err)
	if after := slot(); after != before {
		d.Errorf("the slot was %s and is %s", before, after)
	}
	d.Do(thaw...)
	streamtest.Eventually(d, "the server is written to again", func() bool {
		_, err := c.Renew(drivertest.Within(d), g, g.NotAfter+5000)
		return err == nil
	})
}

// Replicated is a server with a replica that can take its place.
type Replicated struct {
	*Database
	Addr string
	// Freeze makes the server read-only, as an operator does.
	Freeze func()
	// Promote has the replica take over when it has what the server has written, and returns its
	// address.
	Promote func() string
	// URL is that of a namespace on the server at an address.
	URL func(addr string) string
}

// SwitchOver is planned: the operator freezes the server, promotes the replica, and has the name
// lead there. One generator runs before that, and another one begins on the replica; both want the
// same worker ID.
func SwitchOver(r Replicated) {
	p := proxytest.Start(r, r.Addr)
	old := r.generator(p.Addr)
	if err := old.Ready(drivertest.Within(r)); err != nil {
		r.Fatal(err)
	}
	r.Freeze()
	there := r.Promote()
	stored := func() string { return r.Text("SELECT record FROM unalike_slots WHERE worker = 5") }
	frozen := stored()
	p.Lead(there)
	newcomer := r.generator(there)
	const watched = sqlstore.MaxHorizon + sqlstore.DefaultSkewBound + 30*time.Second
	seen := map[core.ID]bool{}
	var last time.Time
	for began := time.Now(); time.Since(began) < watched; time.Sleep(time.Millisecond) {
		for _, g := range []*core.Generator{old, newcomer} {
			id, err := g.TryNext()
			if err != nil {
				continue
			}
			if seen[id] {
				r.Fatalf("ID %d came twice, %v after the switch-over", id, time.Since(began))
			}
			seen[id] = true
			last = time.Now()
		}
	}
	if now := stored(); now != frozen {
		r.Errorf("the slot on the frozen server was %s and is %s", frozen, now)
	}
	if time.Since(last) > 10*time.Second {
		r.Errorf("no ID came for %v", time.Since(last))
	}
}

// generator starts a generator that wants the only worker ID of the server at an address.
func (r Replicated) generator(addr string) *core.Generator {
	r.Helper()
	c, err := drivertest.Open(r, r.URL(addr))
	if err != nil {
		r.Fatal(err)
	}
	g, err := core.Start(c, core.Config{
		Lease:  coord.LeaseConfig{WorkerIDs: coord.Range{First: 5, Count: 1}},
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = g.Close(drivertest.Within(r)) })
	return g
}
