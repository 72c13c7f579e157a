package sqltest

import (
	"errors"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/sqlstore"
)

// granted returns a participant of a new namespace, and a grant that it has.
func granted(t *testing.T, d *Database) (ns string, c Participant, g coord.Grant) {
	t.Helper()
	ns = newName()
	c = d.New(t, ns)
	return ns, c, mustAcquire(t, c, 1)
}

// acquire asks for one of the first n worker IDs.
func acquire(t *testing.T, c coord.Coordinator, n int) (coord.Grant, error) {
	t.Helper()
	return c.Acquire(drivertest.Within(t), drivertest.Request(n))
}

// mustAcquire is acquire for who gets one.
func mustAcquire(t *testing.T, c coord.Coordinator, n int) coord.Grant {
	t.Helper()
	return drivertest.MustAcquire(t, c, drivertest.Request(n))
}

// fresh is a grant as a process has it that was started again.
func fresh(g coord.Grant) coord.Grant { g.Handle = nil; return g }

// renew extends a window by a second.
func renew(t *testing.T, c coord.Coordinator, g coord.Grant) (coord.Grant, error) {
	t.Helper()
	return c.Renew(drivertest.Within(t), g, g.NotAfter+1000)
}

// mustRenew is renew for who gets no more and no less.
func mustRenew(t *testing.T, c coord.Coordinator, g coord.Grant) coord.Grant {
	t.Helper()
	r, err := renew(t, c, g)
	if err != nil || r.NotAfter != g.NotAfter+1000 {
		t.Fatalf("Renew of %v: %v, %v", g, r, err)
	}
	return r
}

// wantQuarantined checks that a call was refused because writes were lost, or has got a window
// that opens when all that may be lost are over.
func wantQuarantined(t *testing.T, what string, got coord.Grant, err error) {
	t.Helper()
	later := drivertest.TickNow() + sqlstore.MaxHorizon.Milliseconds()/2
	if !errors.Is(err, coord.ErrQuarantined) && (err != nil || got.NotBefore < later) {
		t.Errorf("%s: %v, %v; want %v", what, got, err, coord.ErrQuarantined)
	}
}

// wantLoss checks whether a loss is on record.
func wantLoss(t *testing.T, c coord.Admin, want bool) {
	t.Helper()
	if n, err := c.Inspect(drivertest.Within(t)); err != nil || n.Lost.IsZero() == want {
		t.Errorf("Inspect: %+v, %v; want a loss on record: %t", n, err, want)
	}
}

// Missing deletes rows: all are made with the namespace, so that one which is missing is
// noticed, and made again.
func Missing(t *testing.T, d *Database) {
	for _, which := range []string{"AND worker = 0", "AND worker = 7", ""} {
		ns, c, g := granted(t, d)
		d.Exec(t, "DELETE FROM unalike_slots WHERE namespace = '%s' %s", ns, which)
		newcomer := d.New(t, ns)
		r, err := acquire(t, newcomer, 8)
		wantQuarantined(t, "Acquire", r, err)
		if n := d.Int(t, "SELECT COUNT(*) FROM unalike_slots WHERE namespace = '%s'",
			ns); n != drivertest.Capacity {
			t.Errorf("there are %d rows after those %q were deleted", n, which)
		}
		if r, err := renew(t, c, g); err == nil {
			t.Errorf("Renew of %v, which may be lost: %v", g, r)
		}
	}
	ns, _, g := granted(t, d)
	d.Exec(t, "DELETE FROM unalike_slots WHERE namespace = '%s' AND worker = 0", ns)
	again := d.New(t, ns)
	if r, err := renew(t, again, fresh(g)); err == nil {
		t.Errorf("Renew of %v, whose row is gone: %v", g, r)
	}
	wantLoss(t, again, true)
	d.Exec(t, "DELETE FROM unalike_namespaces WHERE namespace = '%s'", ns)
	newcomer := d.New(t, ns)
	_, err := acquire(t, newcomer, 8)
	drivertest.WantInvalid(t, "Acquire without the namespace's row", err)
}

// Undone restores a dump that lacks a grant: who knows how much was written notices that.
func Undone(t *testing.T, d *Database) {
	ns, c, _ := granted(t, d)
	restore := d.dump(t, ns)
	mustAcquire(t, c, 2)
	restore()
	r, err := acquire(t, c, 2)
	wantQuarantined(t, "Acquire after a grant was undone", r, err)
}

// ComeAgain restores a row as a dump had it, and lets it come to the version that a holder
// knows: stamps tell the two apart.
func ComeAgain(t *testing.T, d *Database) {
	ns, c, g := granted(t, d)
	restore := d.dump(t, ns)
	known, err := c.Renew(drivertest.Within(t), g, g.NotAfter+9000)
	if err != nil {
		t.Fatal(err)
	}
	restore()
	other := d.New(t, ns)
	mustRenew(t, other, fresh(g))
	r, err := renew(t, c, known)
	wantQuarantined(t, "Renew of what a dump has undone", r, err)
}

// Edited changes a record by hand, which leaves version and stamp as they are: it is not
// overwritten by who has read it before.
func Edited(t *testing.T, d *Database) {
	ns, c, g := granted(t, d)
	d.Exec(t, "UPDATE unalike_slots SET record = '{' WHERE namespace = '%s' AND worker = 0", ns)
	if r, err := renew(t, c, g); !errors.Is(err, coord.ErrInvalid) ||
		errors.Is(err, coord.ErrLeaseLost) {
		t.Errorf("Renew of a damaged slot: %v, %v; want %v", r, err, coord.ErrInvalid)
	}
	if s := d.Text(t, "SELECT record FROM unalike_slots WHERE namespace = '%s' AND worker = 0",
		ns); s != "{" {
		t.Errorf("the damaged slot was overwritten: %s", s)
	}
}

// Formatless takes away the row without which the tables count as half made: who renews makes it
// again, if nobody else comes.
func Formatless(t *testing.T, d *Database) {
	_, c, g := granted(t, d)
	d.Exec(t, "TRUNCATE TABLE unalike_format")
	if r, err := renew(t, c, g); err == nil || coord.Permanent(err) {
		t.Errorf("Renew with tables that are half made: %v, %v; want an error that may pass", r, err)
	}
	mustRenew(t, c, g)
}

// Dropped drops all tables: they are made again, with a floor, by whoever knows that there was
// something.
func Dropped(t *testing.T, d *Database) {
	ns, c, g := granted(t, d)
	for _, what := range []string{
		"VIEW unalike_workers", "TABLE unalike_namespaces", "TABLE unalike_slots",
		"TABLE unalike_format", "SEQUENCE unalike_tickets",
	} {
		d.Exec(t, "DROP %s", what)
	}
	if r, err := renew(t, c, g); err == nil {
		t.Errorf("Renew of %v, whose tables are gone: %v", g, r)
	}
	r, err := acquire(t, c, 1)
	wantQuarantined(t, "Acquire", r, err)
	newcomer := d.New(t, ns)
	r, err = acquire(t, newcomer, 2)
	wantQuarantined(t, "Acquire of a newcomer", r, err)
}

// Races has two of three changes of slots rolled back, as the server does with what is in
// another one's way: all calls succeed. Trigger makes a trigger on unalike_slots for that, and
// counts with the sequence races.
func Races(t *testing.T, d *Database, trigger ...string) {
	c := d.New(t, newName())
	if err := c.Init(drivertest.Within(t), drivertest.Space()); err != nil {
		t.Fatal(err)
	}
	d.Do(t, "CREATE SEQUENCE races")
	d.Do(t, trigger...)
	for range 4 {
		req := drivertest.Request(drivertest.Capacity)
		req.Identity = "pod"
		r := mustRenew(t, c, drivertest.MustAcquire(t, c, req))
		if err := c.Release(drivertest.Within(t), r, r.NotBefore); err != nil {
			t.Fatal(err)
		}
	}
	if drawn := d.Int(t, "SELECT "+d.Next, "races"); drawn < 3*4*3 {
		t.Errorf("there were %d changes; want 3 for each that was done", drawn)
	}
	if slots, err := c.List(drivertest.Within(t)); err != nil || len(slots) != 1 ||
		slots[0].Generation != 4 {
		t.Errorf("List: %+v, %v; want the fourth generation of one slot", slots, err)
	}
}
