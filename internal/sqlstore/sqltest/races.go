package sqltest

import (
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
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
	if slots, err := c.List(drivertest.Within(t)); err != nil || len(slots) != 1 ||
		slots[0].Generation != 4 {
		t.Errorf("List: %+v, %v; want the fourth generation of one slot", slots, err)
	}
}
