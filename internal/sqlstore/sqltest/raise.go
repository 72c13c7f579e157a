package sqltest

import (
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
)

// Raise raises the floor while many renew without a pause, each of whom locks the row of the
// namespace: it comes about, again and again.
func Raise(t *testing.T, d *Database) {
	t.Helper()
	ns := newName()
	operator, _ := d.New(t, ns)
	var renewers sync.WaitGroup
	done := make(chan struct{})
	for range 15 {
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
				case coord.Permanent(err): // otherwise it may just have changed too often
					t.Error(err)
					return
				}
			}
		})
	}
	var longest time.Duration
	for n := range 20 {
		began := time.Now()
		if _, err := operator.Quarantine(drivertest.Within(t), time.Now().Add(time.Duration(n)*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		longest = max(longest, time.Since(began))
	}
	close(done)
	renewers.Wait()
	t.Logf("a floor was raised within %v at most, beside 15 who renew without a pause", longest)
}
