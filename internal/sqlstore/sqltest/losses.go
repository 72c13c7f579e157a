package sqltest

import (
	"errors"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
)

// fresh is a grant as a process has it that was started again.
func fresh(g coord.Grant) coord.Grant { g.Handle = nil; return g }

// Lineage has a namespace settled on another server, so that it may lack writes: newcomers
// and holders notice that, whether or not they have seen it before.
func Lineage(t *testing.T, d *Database) {
	t.Helper()
	for _, name := range []string{"newcomer", "again", "holder"} {
		ns := newName()
		c, _ := d.New(t, ns)
		g := drivertest.MustAcquire(t, c, drivertest.Request(8))
		d.Exec(t, "UPDATE unalike_namespaces SET lineage = 'elsewhere' WHERE namespace = '%s'", ns)
		other, _ := d.New(t, ns)
		var r coord.Grant
		var err error
		switch name {
		case "newcomer":
			r, err = other.Acquire(drivertest.Within(t), drivertest.Request(8))
		case "again":
			r, err = other.Renew(drivertest.Within(t), fresh(g), g.NotAfter+1000)
		default:
			r, err = c.Renew(drivertest.Within(t), g, g.NotAfter+1000)
		}
		wantQuarantined(t, name+" on another server", r, err)
		wantLoss(t, c)
		if d.Int(t, "SELECT COUNT(*) FROM unalike_namespaces WHERE namespace = '%s' AND lineage <> "+
			"'elsewhere'", ns) != 1 {
			t.Errorf("%s: the lineage was not settled", name)
		}
	}
}

// wantLoss checks that a loss is on record.
func wantLoss(t *testing.T, c coord.Admin) {
	t.Helper()
	if n, err := c.Inspect(drivertest.Within(t)); err != nil || n.Lost.IsZero() {
		t.Errorf("Inspect: %+v, %v; want a loss on record", n, err)
	}
}

// Missing deletes rows: all are made with the namespace, so that one which is missing is
// noticed, and made again.
func Missing(t *testing.T, d *Database) {
	t.Helper()
	for _, which := range []string{"AND worker = 0", "AND worker = 7", ""} {
		ns := newName()
		c, _ := d.New(t, ns)
		g := drivertest.MustAcquire(t, c, drivertest.Request(1))
		d.Exec(t, "DELETE FROM unalike_slots WHERE namespace = '%s' %s", ns, which)
		newcomer, _ := d.New(t, ns)
		r, err := newcomer.Acquire(drivertest.Within(t), drivertest.Request(8))
		wantQuarantined(t, "Acquire", r, err)
		if n := d.Int(t, "SELECT COUNT(*) FROM unalike_slots WHERE namespace = '%s'",
			ns); n != drivertest.Capacity {
			t.Errorf("there are %d rows after those %q were deleted", n, which)
		}
		if r, err := c.Renew(drivertest.Within(t), g, g.NotAfter+1000); err == nil {
			t.Errorf("Renew of %v, which may be lost: %v", g, r)
		}
	}
	ns := newName()
	c, _ := d.New(t, ns)
	g := drivertest.MustAcquire(t, c, drivertest.Request(1))
	d.Exec(t, "DELETE FROM unalike_slots WHERE namespace = '%s' AND worker = 0", ns)
	again, _ := d.New(t, ns)
	if r, err := again.Renew(drivertest.Within(t), fresh(g), g.NotAfter+1000); err == nil {
		t.Errorf("Renew of %v, whose row is gone: %v", g, r)
	}
	wantLoss(t, again)
	d.Exec(t, "DELETE FROM unalike_namespaces WHERE namespace = '%s'", ns)
	newcomer, _ := d.New(t, ns)
	_, err := newcomer.Acquire(drivertest.Within(t), drivertest.Request(8))
	drivertest.WantInvalid(t, "Acquire without the namespace's row", err)
}

// ComeAgain restores a row as a dump had it, and lets it come to the version that a holder
// knows: stamps tell the two apart.
func ComeAgain(t *testing.T, d *Database) {
	t.Helper()
	ns := newName()
	c, _ := d.New(t, ns)
	g := drivertest.MustAcquire(t, c, drivertest.Request(1))
	d.Exec(t, "CREATE TABLE dump_%s AS SELECT * FROM unalike_slots WHERE namespace = '%s'", ns, ns)
	known, err := c.Renew(drivertest.Within(t), g, g.NotAfter+9000)
	if err != nil {
		t.Fatal(err)
	}
	d.Exec(t, "DELETE FROM unalike_slots WHERE namespace = '%s'", ns)
	d.Exec(t, "INSERT INTO unalike_slots SELECT * FROM dump_%s", ns)
	other, _ := d.New(t, ns)
	if _, err := other.Renew(drivertest.Within(t), fresh(g), g.NotAfter+1000); err != nil {
		t.Fatal(err)
	}
	r, err := c.Renew(drivertest.Within(t), known, known.NotAfter+1000)
	wantQuarantined(t, "Renew of what a dump has undone", r, err)
}

// Edited changes a record by hand, which leaves version and stamp as they are: it is not
// overwritten by who has read it before.
func Edited(t *testing.T, d *Database) {
	t.Helper()
	ns := newName()
	c, _ := d.New(t, ns)
	g := drivertest.MustAcquire(t, c, drivertest.Request(1))
	d.Exec(t, "UPDATE unalike_slots SET record = '{' WHERE namespace = '%s' AND worker = 0", ns)
	if r, err := c.Renew(drivertest.Within(t), g, g.NotAfter+1000); !errors.Is(err,
		coord.ErrInvalid) || errors.Is(err, coord.ErrLeaseLost) {
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
	t.Helper()
	c, _ := d.New(t, newName())
	g := drivertest.MustAcquire(t, c, drivertest.Request(1))
	d.Exec(t, "TRUNCATE TABLE unalike_format")
	if r, err := c.Renew(drivertest.Within(t), g, g.NotAfter+1000); err == nil ||
		errors.Is(err, coord.ErrInvalid) || errors.Is(err, coord.ErrLeaseLost) {
		t.Errorf("Renew with tables that are half made: %v, %v; want an error that may pass", r, err)
	}
	if r, err := c.Renew(drivertest.Within(t), g, g.NotAfter+1000); err != nil ||
		r.NotAfter != g.NotAfter+1000 {
		t.Errorf("the next Renew: %v, %v", r, err)
	}
}

// Dropped drops all tables: they are made again, with a floor, by whoever knows that there was
// something.
func Dropped(t *testing.T, d *Database) {
	t.Helper()
	ns := newName()
	c, _ := d.New(t, ns)
	g := drivertest.MustAcquire(t, c, drivertest.Request(1))
	d.Exec(t, "DROP VIEW unalike_workers")
	for _, table := range []string{"namespaces", "slots", "format"} {
		d.Exec(t, "DROP TABLE unalike_%s", table)
	}
	d.Exec(t, "DROP SEQUENCE unalike_tickets")
	if r, err := c.Renew(drivertest.Within(t), g, g.NotAfter+1000); err == nil {
		t.Errorf("Renew of %v, whose tables are gone: %v", g, r)
	}
	r, err := c.Acquire(drivertest.Within(t), drivertest.Request(1))
	wantQuarantined(t, "Acquire", r, err)
	newcomer, _ := d.New(t, ns)
	r, err = newcomer.Acquire(drivertest.Within(t), drivertest.Request(2))
	wantQuarantined(t, "Acquire of a newcomer", r, err)
}
