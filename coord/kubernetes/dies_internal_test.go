package kubernetes

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
)

// cut is a client that does something before its n-th request.
type cut struct {
	*fakeAPI
	mu  sync.Mutex
	n   int
	act func()
}

// RoundTrip implements [http.RoundTripper].
func (c *cut) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.n--
	now := c.n == 0
	c.mu.Unlock()
	if now {
		c.act()
	}
	return c.fakeAPI.RoundTrip(r)
}

// TestDies: whoever acquires the first worker ID of a namespace gives up, or dies, before each of the requests. The
// same one goes on at once, and another one soon.
func TestDies(t *testing.T) {
	for name, tc := range map[string]struct {
		same    bool
		longest time.Duration
	}{
		"the same one goes on": {true, time.Second},
		"another one comes":    {false, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			for n, more := 1, true; more; n++ {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					acted := false
					l := &cut{fakeAPI: newFakeAPI(), n: n, act: func() { acted = true; cancel() }}
					open := func() *Coordinator {
						c, err := New(&http.Client{Transport: l}, "http://h", "orders", Options{In: "shop", Clock: l.clock})
						return drivertest.Closing(t, c, err)
					}
					c, req := open(), drivertest.Request(4)
					req.Now = drivertest.Scale().Tick(l.clock.UnixMicro())
					req.OpenBy, req.Until = req.Now, req.Now+10_000
					_, err := c.Acquire(ctx, req)
					if more = acted; err == nil {
						return // it had nothing left to ask for
					}
					synctest.Wait()
					if !tc.same {
						c, req.Token = open(), "another"
					}
					began := time.Now()
					if _, err := c.Acquire(t.Context(), req); err != nil || time.Since(began) > tc.longest {
						t.Errorf("after one that ended before request %d: %v after %v", n, err, time.Since(began))
					}
					if slots, err := c.List(t.Context()); err != nil || len(slots) == 0 || slots[len(slots)-1].State != coord.SlotHeld {
						t.Errorf("after one that ended before request %d: %v, %v", n, slots, err)
					}
				})
			}
		})
	}
}
