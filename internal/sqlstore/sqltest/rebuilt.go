package sqltest

import (
	"context"
	"sync"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
)

// Rebuilt rewrites the tables, which takes them away from everybody for a moment, again and
// again while holders renew: they wait, go on, and nothing is taken for a loss.
func Rebuilt(t *testing.T, d *Database, statements ...string) {
	t.Helper()
	ns := newName()
	operator, _ := d.New(t, ns)
	stop, end := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 4 {
		c, _ := d.New(t, ns)
		g := drivertest.MustAcquire(t, c, drivertest.Request(drivertest.Capacity))
		all.Go(func() {
			for stop.Err() == nil {
				r, err := c.Renew(drivertest.Within(t), g, g.NotAfter+1)
				switch {
				case err == nil:
					g = r
				case coord.Permanent(err): // otherwise a holder tries again
					t.Error(err)
					return
				}
			}
		})
	}
	for range 5 {
		for _, s := range statements {
			d.Exec(t, "%s", s)
		}
	}
	end()
	all.Wait()
	if n, err := operator.Inspect(drivertest.Within(t)); err != nil || !n.Lost.IsZero() {
		t.Errorf("Inspect: %+v, %v; want no loss", n, err)
	}
	slots, err := operator.List(drivertest.Within(t))
	if err != nil || len(slots) != 4 {
		t.Fatalf("List: %+v, %v", slots, err)
	}
	for _, s := range slots {
		if s.Generation != 1 {
			t.Errorf("%+v; want the first holder", s)
		}
	}
}
