package sqltest

import (
	"errors"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/sqlstore"
)

// granted returns a participant of a new namespace, and a grant that it has.
func (d *Database) granted() (ns string, c Participant, g coord.Grant) {
	d.Helper()
	ns = newName()
	c = d.New(ns)
	return ns, c, c.mustAcquire(1)
}

// acquire asks for one of the first n worker IDs.
func (c Participant) acquire(n int) (coord.Grant, error) {
	c.Helper()
	return c.Acquire(drivertest.Within(c), drivertest.Request(n))
}

// mustAcquire is acquire for who gets one.
func (c Participant) mustAcquire(n int) coord.Grant {
	c.Helper()
	return drivertest.MustAcquire(c, c, drivertest.Request(n))
}

// fresh is a grant as a process has it that was started again.
func fresh(g coord.Grant) coord.Grant { g.Handle = nil; return g }

// renew extends a window by a second.
func (c Participant) renew(g coord.Grant) (coord.Grant, error) {
	c.Helper()
	return c.Renew(drivertest.Within(c), g, g.NotAfter+1000)
}

// mustRenew is renew for who gets no more and no less.
func (c Participant) mustRenew(g coord.Grant) coord.Grant {
	c.Helper()
	r, err := c.renew(g)
	if err != nil || r.NotAfter != g.NotAfter+1000 {
		c.Fatalf("Renew of %v: %v, %v", g, r, err)
	}
	return r
}

// wantQuarantined checks that a call was refused because writes were lost, or has got a window
// that opens when all that may be lost are over.
func (d *Database) wantQuarantined(what string, got coord.Grant, err error) {
	d.Helper()
	later := drivertest.TickNow() + sqlstore.MaxHorizon.Milliseconds()/2
	if !errors.Is(err, coord.ErrQuarantined) && (err != nil || got.NotBefore < later) {
		d.Errorf("%s: %v, %v; want %v", what, got, err, coord.ErrQuarantined)
	}
}

// wantLoss checks whether a loss is on record.
func (c Participant) wantLoss(want bool) {
	c.Helper()
	if n, err := c.Inspect(drivertest.Within(c)); err != nil || n.Lost.IsZero() == want {
		c.Errorf("Inspect: %+v, %v; want a loss on record: %t", n, err, want)
	}
}

// Missing deletes rows: all are made with the namespace, so that one which is missing is
// noticed, and made again.
func Missing(d *Database) {
	for _, which := range []string{"AND worker = 0", "AND worker = 7", ""} {
		ns, c, g := d.granted()
		d.Exec("DELETE FROM unalike_slots WHERE namespace = '%s' %s", ns, which)
		newcomer := d.New(ns)
		r, err := newcomer.acquire(8)
		d.wantQuarantined("Acquire", r, err)
		if n := d.Int("SELECT COUNT(*) FROM unalike_slots WHERE namespace = '%s'",
			ns); n != drivertest.Capacity {
			d.Errorf("there are %d rows after those %q were deleted", n, which)
		}
		if r, err := c.renew(g); err == nil {
			d.Errorf("Renew of %v, which may be lost: %v", g, r)
		}
	}
	ns, _, g := d.granted()
	d.Exec("DELETE FROM unalike_slots WHERE namespace = '%s' AND worker = 0", ns)
	again := d.New(ns)
	if r, err := again.renew(fresh(g)); err == nil {
		d.Errorf("Renew of %v, whose row is gone: %v", g, r)
	}
	again.wantLoss(true)
	d.Exec("DELETE FROM unalike_namespaces WHERE namespace = '%s'", ns)
	if _, err := d.New(ns).List(drivertest.Within(d)); !errors.Is(err, coord.ErrInvalid) {
		d.Errorf("List without the namespace's row: %v; want %v", err, coord.ErrInvalid)
	}
}

// Undone restores a dump that lacks a grant: who knows how much was written notices that.
func Undone(d *Database) {
	ns, c, _ := d.granted()
	restore := d.Dump(ns)
	c.mustAcquire(2)
	restore()
	r, err := c.acquire(2)
	d.wantQuarantined("Acquire after a grant was undone", r, err)
}

// ComeAgain restores a row as a dump had it, and lets it come to the version that a holder
// knows: stamps tell the two apart.
func ComeAgain(d *Database) {
	ns, c, g := d.granted()
	restore := d.Dump(ns)
	known, err := c.Renew(drivertest.Within(d), g, g.NotAfter+9000)
	if err != nil {
		d.Fatal(err)
	}
	restore()
	other := d.New(ns)
	other.mustRenew(fresh(g))
	r, err := c.renew(known)
	d.wantQuarantined("Renew of what a dump has undone", r, err)
}

// Edited changes a record by hand, which leaves version and stamp as they are: it is not
// overwritten by who has read it before.
func Edited(d *Database) {
	ns, c, g := d.granted()
	d.Exec("UPDATE unalike_slots SET record = '{' WHERE namespace = '%s' AND worker = 0", ns)
	if r, err := c.renew(g); !errors.Is(err, coord.ErrInvalid) ||
		errors.Is(err, coord.ErrLeaseLost) {
		d.Errorf("Renew of a damaged slot: %v, %v; want %v", r, err, coord.ErrInvalid)
	}
	if s := d.Text("SELECT record FROM unalike_slots WHERE namespace = '%s' AND worker = 0",
		ns); s != "{" {
		d.Errorf("the damaged slot was overwritten: %s", s)
	}
}

// Dropped drops all tables: they are made again, with a floor, by whoever knows that there was
// something.
func Dropped(d *Database) {
	ns, c, g := d.granted()
	for _, what := range []string{
		"VIEW unalike_workers", "TABLE unalike_namespaces", "TABLE unalike_slots",
		"TABLE unalike_history", "SEQUENCE unalike_tickets",
	} {
		d.Exec("DROP %s", what)
	}
	if r, err := c.renew(g); err == nil {
		d.Errorf("Renew of %v, whose tables are gone: %v", g, r)
	}
	r, err := c.acquire(1)
	d.wantQuarantined("Acquire", r, err)
	newcomer := d.New(ns)
	r, err = newcomer.acquire(2)
	d.wantQuarantined("Acquire of a newcomer", r, err)
}

// Races has two of three changes of slots rolled back, as the server does with what is in
// another one's way: all calls succeed. Trigger makes a trigger on unalike_slots for that, and
// counts with the sequence races.
func Races(d *Database, trigger ...string) {
	c := d.New(newName())
	if err := c.Init(drivertest.Within(d), drivertest.Space()); err != nil {
		d.Fatal(err)
	}
	d.Do("CREATE SEQUENCE races")
	d.Do(trigger...)
	for range 4 {
		req := drivertest.Request(drivertest.Capacity)
		req.Identity = "pod"
		r := c.mustRenew(drivertest.MustAcquire(d, c, req))
		if err := c.Release(drivertest.Within(d), r, r.NotBefore); err != nil {
			d.Fatal(err)
		}
	}
	if drawn := d.Int("SELECT "+d.Next, "races"); drawn < 3*4*3 {
		d.Errorf("there were %d changes; want 3 for each that was done", drawn)
	}
	if slots, err := c.List(drivertest.Within(d)); err != nil || len(slots) != 1 ||
		slots[0].Generation != 4 {
		d.Errorf("List: %+v, %v; want the fourth generation of one slot", slots, err)
	}
}
