package sqltest

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// Rebuilt rewrites the tables, which takes them away from everybody for a moment, again and
// again while holders renew: they wait, go on, and nothing is taken for a loss.
func Rebuilt(t *testing.T, d *Database, statements ...string) {
	t.Helper()
	ns := newName()
	operator, _ := d.New(t, ns)
	var renewers sync.WaitGroup
	var renewed [4]atomic.Int64
	done := make(chan struct{})
	for i := range renewed {
		c, _ := d.New(t, ns)
		g := drivertest.MustAcquire(t, c, drivertest.Request(drivertest.Capacity))
		renewers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				r, err := c.Renew(drivertest.Within(t), g, g.NotAfter+1)
				switch {
				case err == nil:
					g = r
					renewed[i].Add(1)
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
		var before [len(renewed)]int64
		for i := range renewed {
			before[i] = renewed[i].Load()
		}
		streamtest.Eventually(t, "all have renewed again", func() bool {
			for i := range renewed {
				if renewed[i].Load() == before[i] && !t.Failed() {
					return false
				}
			}
			return true
		})
	}
	close(done)
	renewers.Wait()
	if n, err := operator.Inspect(drivertest.Within(t)); err != nil || !n.Lost.IsZero() {
		t.Errorf("Inspect: %+v, %v; want no loss", n, err)
	}
	slots, err := operator.List(drivertest.Within(t))
	if err != nil || len(slots) != len(renewed) {
		t.Fatalf("List: %+v, %v", slots, err)
	}
	for _, s := range slots {
		if s.Generation != 1 {
			t.Errorf("%+v; want the first holder", s)
		}
	}
}
