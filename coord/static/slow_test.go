package static

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
)

// slowDisk is a disk in a bubble's time.
type slowDisk struct {
	delay atomic.Int64 // nanoseconds that a file takes to get there
	once  atomic.Int64 // and that one of them takes beyond
	syncs atomic.Int64
}

// slow gives c a disk of which every sync takes delay.
func slow(c *Coordinator, delay time.Duration) *slowDisk {
	d := new(slowDisk)
	d.delay.Store(int64(delay))
	c.storage.sync = func(*os.File) error {
		d.syncs.Add(1)
		time.Sleep(time.Duration(d.delay.Load() + d.once.Swap(0)))
		return nil
	}
	c.storage.syncDir = func(string) error { return nil }
	return d
}

// renewWithin renews with a context of a second, and returns how long that took.
func renewWithin(t *testing.T, c *Coordinator, g coord.Grant, until int64) (coord.Grant, time.Duration, error) {
	t.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	g, err := c.Renew(ctx, g, until)
	return g, time.Since(began), err
}

// slowly runs f with the window (0, 4000], acquired at tick 1000, on a disk that takes
// 1.1 s, which is longer than a call's context, and after one renewal until tick 5000
// that ended with its context.
func slowly(t *testing.T, f func(t *testing.T, c *Coordinator, g coord.Grant, path string, d *slowDisk)) {
	synctest.Test(t, func(t *testing.T) {
		c, g, path := held(t)
		d := slow(c, 1100*time.Millisecond)
		if _, took, err := renewWithin(t, c, g, 5000); !errors.Is(err, context.DeadlineExceeded) || took != time.Second {
			t.Fatalf("after %v: %v; want %v, after 1s", took, err, context.DeadlineExceeded)
		}
		f(t, c, g, path, d)
	})
}

// TestRenewalJoinsTheOneUnderWay: the next attempt does not begin anew what the disk is
// doing already. What it asked for beyond that is stored behind it.
func TestRenewalJoinsTheOneUnderWay(t *testing.T) {
	slowly(t, func(t *testing.T, c *Coordinator, g coord.Grant, path string, d *slowDisk) {
		time.Sleep(20 * time.Millisecond)
		r, took, err := renewWithin(t, c, g, 6020)
		if err != nil || took != 80*time.Millisecond {
			t.Fatalf("after %v: %v; want the result of the first renewal, after 80ms", took, err)
		}
		window(t, r, 0, 5000)
		time.Sleep(time.Second)
		r, took, err = renewWithin(t, c, r, 7020)
		if err != nil || took != 100*time.Millisecond {
			t.Fatalf("after %v: %v; want the result of what was stored behind, after 100ms", took, err)
		}
		window(t, r, 0, 6020)
		time.Sleep(2 * time.Second)
		if r := stored(t, path); r.NotAfter != 7020 || d.syncs.Load() != 3 {
			t.Errorf("%d syncs, stored is %+v; want 3, and 7020, which was asked for last", d.syncs.Load(), r)
		}
	})
}

// TestRenewalThatNobodyHeardIsReturned: what was stored after the caller had gone is what
// the next one gets, at once.
func TestRenewalThatNobodyHeardIsReturned(t *testing.T) {
	slowly(t, func(t *testing.T, c *Coordinator, g coord.Grant, path string, d *slowDisk) {
		time.Sleep(500 * time.Millisecond)
		r, took, err := renewWithin(t, c, g, 5500)
		if err != nil || took != 0 {
			t.Fatalf("after %v: %v; want the result of the first renewal, at once", took, err)
		}
		window(t, r, 0, 5000)
		time.Sleep(1500 * time.Millisecond) // and the rest is stored behind it
		r, took, err = renewWithin(t, c, r, 5500)
		if err != nil || took != 0 || d.syncs.Load() != 2 {
			t.Fatalf("after %v and %d syncs: %v; want no third one", took, d.syncs.Load(), err)
		}
		window(t, r, 0, 5500)
		if r := stored(t, path); r.NotAfter != 5500 {
			t.Errorf("stored is %+v; want 5500", r)
		}
	})
}

// TestRenewalsThatNobodyHearsEnd: what is stored for callers who have gone is stored once.
func TestRenewalsThatNobodyHearsEnd(t *testing.T) {
	slowly(t, func(t *testing.T, c *Coordinator, g coord.Grant, path string, d *slowDisk) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := c.Renew(ctx, g, 6000); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if r := stored(t, path); r.NotAfter != 6000 || d.syncs.Load() != 2 {
			t.Errorf("%d syncs, stored is %+v; want 2, and 6000", d.syncs.Load(), r)
		}
	})
}

// TestWindowThatIsNearlyOverIsNotReturned: less than half a horizon would be over before
// the next renewal, so the one that was asked for is made.
func TestWindowThatIsNearlyOverIsNotReturned(t *testing.T) {
	for _, tt := range []struct{ until, want int64 }{{6500, 5000}, {6501, 6501}} { // at tick 3500, 1500 are left
		slowly(t, func(t *testing.T, c *Coordinator, g coord.Grant, _ string, _ *slowDisk) {
			time.Sleep(500 * time.Millisecond)
			r, err := c.Renew(t.Context(), g, tt.until)
			if err != nil {
				t.Fatal(err)
			}
			window(t, r, 0, tt.want)
		})
	}
}

// TestLateRenewalOfALostHoldIsHarmless: what is behind a renewal meets a worker ID that
// was released meanwhile.
func TestLateRenewalOfALostHoldIsHarmless(t *testing.T) {
	slowly(t, func(t *testing.T, c *Coordinator, g coord.Grant, path string, _ *slowDisk) {
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.Release(ended, g, 1500); !errors.Is(err, context.Canceled) {
			t.Fatalf("Release: %v; want %v", err, context.Canceled)
		}
		if _, err := c.Renew(t.Context(), g, 9000); !errors.Is(err, coord.ErrLeaseLost) && err != nil {
			t.Fatalf("Renew: %v", err)
		}
		synctest.Wait()
		time.Sleep(10 * time.Second)
		if r := stored(t, path); r.NotAfter != 1500 || r.Token != "" {
			t.Errorf("stored is %+v; want it released at 1500", r)
		}
	})
}

// TestGeneratorOnASlowDisk lets a generator run for ten minutes. A disk that is slow all
// the time, but keeps up, costs no ID, and neither does one write that takes three times
// as long. A longer one does, within the window that it fell into and not later.
func TestGeneratorOnASlowDisk(t *testing.T) {
	for _, tt := range []struct {
		name          string
		delay, hiccup time.Duration
		worst         time.Duration // the longest that no ID was to be had
	}{
		{"800_ms", 800 * time.Millisecond, 0, 0},
		{"800_ms_and_a_hiccup", 800 * time.Millisecond, 2400 * time.Millisecond, 0},
		{"800_ms_and_a_long_hiccup", 800 * time.Millisecond, 5 * time.Second, DefaultHorizon},
		{"1300_ms", 1300 * time.Millisecond, 0, 0},
		// Longer than the interval of renewals: now and then one comes late.
		{"1800_ms", 1800 * time.Millisecond, 0, DefaultHorizon},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { generateSlowly(t, tt.delay, tt.hiccup, tt.worst) })
		})
	}
}

func generateSlowly(t *testing.T, delay, hiccup, worst time.Duration) {
	c := open(t, Options{State: statePathOf(t), AcceptFresh: true})
	d := slow(c, 0)
	layout := core.DefaultLayout()
	layout.Epoch = time.Date(1990, time.January, 1, 0, 0, 0, 0, time.UTC) // a bubble begins in 2000
	g, err := core.New(t.Context(), c, core.Config{Layout: layout, Clock: clocktest.NewShifted(time.Now())})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	d.delay.Store(int64(delay))
	const step = 50 * time.Millisecond
	var began, last time.Time // of the refusals in a row, and of any
	var longest time.Duration
	start := time.Now()
	for i := range int(10 * time.Minute / step) {
		if time.Duration(i)*step == time.Minute && hiccup > 0 {
			d.once.Store(int64(hiccup - delay))
		}
		switch _, err := g.Next(); {
		case err == nil:
			began = time.Time{}
		case began.IsZero():
			began = time.Now()
			fallthrough
		default:
			last = time.Now()
			longest = max(longest, last.Sub(began)+step)
		}
		time.Sleep(step)
	}
	t.Logf("%d files, no ID for %v at the longest", d.syncs.Load(), longest)
	if longest > worst {
		t.Errorf("no ID for %v; want %v at the most", longest, worst)
	}
	if worst > 0 && hiccup > 0 && (last.Before(start.Add(time.Minute)) || last.After(start.Add(time.Minute+2*DefaultHorizon))) {
		t.Errorf("no ID %v after the start; want that within %v of the hiccup after a minute", last.Sub(start), 2*DefaultHorizon)
	}
}
