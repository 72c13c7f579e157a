package postgres

import (
	"fmt"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/sqlstore/sqltest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
)

// wrongClock is a database whose server's clock is off.
func wrongClock(d *sqltest.Database, by time.Duration) *sqltest.Database {
	wrong := *d
	wrong.Dialect.Now = fmt.Sprintf("(%s + %d)", d.Dialect.Now, by.Microseconds())
	return &wrong
}

// noHandle is a grant as a process has it that was started again.
func noHandle(g coord.Grant) coord.Grant { g.Handle = nil; return g }

// TestBrokenPromotedBehind: a standby that is promoted lacks what was confirmed last, and its clock
// is a day behind until somebody sets it. Who renews raises the floor by that clock alone, to
// yesterday, and puts on record that the loss was dealt with: when the clock is right again,
// nothing protects the windows that were lost.
func TestBrokenPromotedBehind(t *testing.T) {
	d := database(t, pgtest.Start(t), "")
	c, _ := d.New(t, "ns")
	g := drivertest.MustAcquire(t, c, drivertest.Request(1))
	lost := drivertest.MustAcquire(t, c, drivertest.Request(2))
	d.Exec(t, "UPDATE unalike_namespaces SET lineage = 'elsewhere'")
	d.Exec(t, "UPDATE unalike_slots SET made = 0, version = 0, stamp = 0, record = '', token = NULL, lease_ends = 0 WHERE worker = %d", lost.WorkerID)

	promoted, _ := wrongClock(d, -24*time.Hour).New(t, "ns")
	r, err := promoted.Renew(drivertest.Within(t), noHandle(g), g.NotAfter+1000)
	t.Logf("Renew: %v, %v", r, err)

	newcomer, _ := d.New(t, "ns") // the clock is right again
	req := drivertest.Request(2)
	req.Workers = coord.Range{First: lost.WorkerID, Count: 1}
	if again, err := newcomer.Acquire(drivertest.Within(t), req); err == nil && again.NotBefore < lost.NotAfter && again.NotAfter > again.NotBefore {
		t.Errorf("%v was granted, and then %v: both stamp the same ticks", lost, again)
	}
}

// TestBrokenPromotedAhead: as above, with a clock that is a year ahead. The floor is raised by a
// year, and stays there when the clock is right again, until an operator lowers it.
func TestBrokenPromotedAhead(t *testing.T) {
	d := database(t, pgtest.Start(t), "")
	c, _ := d.New(t, "ns")
	g := drivertest.MustAcquire(t, c, drivertest.Request(1))
	d.Exec(t, "UPDATE unalike_namespaces SET lineage = 'elsewhere'")
	promoted, _ := wrongClock(d, 365*24*time.Hour).New(t, "ns")
	if r, err := promoted.Renew(drivertest.Within(t), noHandle(g), g.NotAfter+1000); err == nil {
		t.Fatalf("Renew: %v", r)
	}
	if n, err := c.Inspect(drivertest.Within(t)); err != nil || n.Floor.After(time.Now().Add(time.Hour)) {
		t.Errorf("Inspect: %+v, %v; want a floor that is passed in minutes", n, err)
	}
}

// TestBrokenLeaseAhead: the server's clock was a day ahead for a moment, in which a holder has
// renewed. The clock is set and the holder dies: its worker ID is held for a day.
func TestBrokenLeaseAhead(t *testing.T) {
	d := database(t, pgtest.Start(t), "")
	c, _ := d.New(t, "ns")
	req := drivertest.Request(1)
	g := drivertest.MustAcquire(t, c, req)
	ahead, _ := wrongClock(d, 24*time.Hour).New(t, "ns")
	if _, err := ahead.Renew(drivertest.Within(t), noHandle(g), g.NotAfter+1000); err != nil {
		t.Fatal(err)
	}
	left := time.Until(time.UnixMicro(d.Int(t, "SELECT lease_ends FROM unalike_slots WHERE worker = %d", g.WorkerID)))
	if left > time.Minute {
		t.Errorf("the lease of a dead holder lasts for another %v; its TTL is %v", left, req.TTL)
	}
}
