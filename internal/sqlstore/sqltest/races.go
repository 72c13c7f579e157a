package sqltest

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// Races has two of three changes of slots rolled back, as the server does with what is in
// another one's way: all calls succeed. Trigger makes a trigger on unalike_slots for that, and
// counts with the sequence races.
func Races(t *testing.T, d *Database, trigger ...string) {
	t.Helper()
	ns := newName()
	c, _ := d.New(t, ns)
	if err := c.Init(drivertest.Within(t), drivertest.Space()); err != nil {
		t.Fatal(err)
	}
	d.Exec(t, "CREATE SEQUENCE races")
	for _, s := range trigger {
		d.Exec(t, "%s", s)
	}
	for range 4 {
		req := drivertest.Request(drivertest.Capacity)
		req.Identity = "pod"
		g := drivertest.MustAcquire(t, c, req)
		r, err := c.Renew(drivertest.Within(t), g, g.NotAfter+1000)
		if err != nil || r.NotAfter != g.NotAfter+1000 {
			t.Fatalf("Renew: %v, %v", r, err)
		}
		if err := c.Release(drivertest.Within(t), r, r.NotBefore); err != nil {
			t.Fatal(err)
		}
	}
	if drawn := d.Int(t, "SELECT "+d.Next, "races"); drawn < 3*4*3 {
		t.Errorf("there were %d changes; want 3 for each that was done", drawn)
	}
	if slots, err := c.List(drivertest.Within(t)); err != nil || len(slots) != 1 || slots[0].Generation != 4 {
		t.Errorf("List: %+v, %v; want the fourth generation of one slot", slots, err)
	}
}

// DeadLock has a renewal and somebody else wait for each other: one of them is rolled back by the
// server, and the renewal succeeds when the other one is gone. Alone is what locks the namespace.
func DeadLock(t *testing.T, d *Database, alone string) {
	t.Helper()
	ns := newName()
	c, _ := d.New(t, ns)
	g := drivertest.MustAcquire(t, c, drivertest.Request(1))
	tx, err := d.SQL.BeginTx(drivertest.Within(t), &sql.TxOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(fmt.Sprintf("UPDATE unalike_slots SET version = version WHERE namespace = '%s'", ns)); err != nil {
		t.Fatal(err)
	}
	renewed := make(chan error, 1)
	go func() {
		r, err := c.Renew(drivertest.Within(t), g, g.NotAfter+1000)
		if err == nil && r.NotAfter != g.NotAfter+1000 {
			err = fmt.Errorf("renewed: %v", r)
		}
		renewed <- err
	}()
	streamtest.Eventually(t, "the renewal waits", func() bool { return d.Int(t, "%s", d.Waiting) >= 1 })
	_, other := tx.Exec(fmt.Sprintf(alone, ns))
	t.Logf("who waited for the renewal: %v", other)
	if err := tx.Rollback(); err != nil {
		t.Log(err)
	}
	if err := <-renewed; err != nil {
		t.Errorf("Renew in a dead lock: %v", err)
	}
}
