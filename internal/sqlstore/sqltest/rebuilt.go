package sqltest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// renewers are holders that renew without a pause, and how often they have done so.
type renewers []atomic.Int64

// renewing starts n holders of a namespace, which go on until stop is called.
func renewing(t *testing.T, d *Database, ns string, n int) (renewed renewers, stop func()) {
	t.Helper()
	renewed = make(renewers, n)
	var all sync.WaitGroup
	done := make(chan struct{})
	for i := range renewed {
		c, _ := d.New(t, ns)
		g := drivertest.MustAcquire(t, c, drivertest.Request(drivertest.Capacity))
		all.Go(func() {
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
	return renewed, func() { close(done); all.Wait() }
}

// again waits until each has renewed once more.
func (r renewers) again(t *testing.T) {
	t.Helper()
	before := make([]int64, len(r))
	for i := range r {
		before[i] = r[i].Load()
	}
	streamtest.Eventually(t, "all have renewed again", func() bool {
		for i := range r {
			if r[i].Load() == before[i] && !t.Failed() {
				return false
			}
		}
		return true
	})
}

// Raise raises the floor while many renew without a pause, each of whom locks the row of the
// namespace: it comes about, again and again.
func Raise(t *testing.T, d *Database) {
	t.Helper()
	ns := newName()
	operator, _ := d.New(t, ns)
	_, stop := renewing(t, d, ns, 15)
	defer stop()
	for n := range 20 {
		if _, err := operator.Quarantine(drivertest.Within(t), time.Now().Add(time.Duration(n)*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
	}
}

// Rebuilt rewrites the tables, which takes them away from everybody for a moment, again and
// again while holders renew: they wait, go on, and nothing is taken for a loss.
func Rebuilt(t *testing.T, d *Database, statements ...string) {
	t.Helper()
	ns := newName()
	operator, _ := d.New(t, ns)
	renewed, stop := renewing(t, d, ns, 4)
	for range 5 {
		for _, s := range statements {
			d.Exec(t, "%s", s)
		}
		renewed.again(t)
	}
	stop()
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
