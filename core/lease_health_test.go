package core_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
)

func TestReadyFollowsTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(1))
		only, cancel := context.WithCancel(t.Context())
		cancel() // Ready only looks
		if err := g.Ready(only); err != nil {
			t.Errorf("Ready at the start: %v", err)
		}
		g.fake.Refuse(true)
		settle(20 * time.Second)
		if err := g.Ready(only); err != nil {
			t.Errorf("Ready inside the window: %v", err)
		}
		settle(15 * time.Second)
		if err := g.Ready(only); !errors.Is(err, core.ErrWindowEnded) || !errors.Is(err, context.Canceled) {
			t.Errorf("Ready after the window: %v", err)
		}
		time.AfterFunc(5*time.Second, func() { g.fake.Refuse(false) })
		began := time.Now()
		if err := g.Ready(t.Context()); err != nil {
			t.Errorf("Ready: %v", err)
		}
		if took := time.Since(began); took < 5*time.Second || took > 7*time.Second {
			t.Errorf("ready after %v, the outage was over after 5s", took)
		}
		if err := g.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := g.Ready(t.Context()); !errors.Is(err, core.ErrClosed) {
			t.Errorf("Ready after Close: %v", err)
		}
	})
}

// Traffic that waits for readiness makes no IDs, so nobody but Ready itself can tell
// the keeper that the window is over.
func TestReadyWakesTheKeeperAfterAStepForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(1))
		settle(time.Second)
		g.clock.Step(time.Hour)
		began := time.Now()
		if err := g.Ready(t.Context()); err != nil {
			t.Errorf("Ready: %v", err)
		}
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("ready %v after the step", took)
		}
	})
}

func TestHealthTellsOfAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(1))
		for range 7 {
			g.next()
		}
		started := time.Now()
		g.fake.Refuse(true)
		settle(10 * time.Second)

		h := g.Health()
		w := h.Workers[0]
		if !h.Healthy || h.Err != nil || w.Err != nil || !errors.Is(w.Failing, coordtest.ErrUnreachable) {
			t.Errorf("inside the window: %+v", h)
		}
		if left := leaseHorizon - 10*time.Second + time.Millisecond; h.WindowLeft != left || w.WindowLeft != left {
			t.Errorf("%v and %v of the window are left, want %v", h.WindowLeft, w.WindowLeft, left)
		}
		if !h.LastRenewal.Equal(started) || !w.Since.Equal(started) || w.WorkerID != 0 || w.Generation != 1 || h.Issued != 7 {
			t.Errorf("started at %v: %+v", started, h)
		}

		settle(21 * time.Second)
		for range 3 {
			_, _ = g.Next()
		}
		h = g.Health()
		if h.Healthy || !errors.Is(h.Err, core.ErrWindowEnded) || !errors.Is(h.Workers[0].Err, core.ErrWindowEnded) || h.WindowLeft != 0 {
			t.Errorf("after the window: %+v", h)
		}
		if h.Errors != (core.ErrorCounts{WindowEnded: 3}) {
			t.Errorf("after three refusals the errors are %+v", h.Errors)
		}

		g.fake.Refuse(false)
		settle(2 * time.Second)
		h = g.Health()
		if !h.Healthy || h.Err != nil || h.Workers[0].Failing != nil || time.Since(h.LastRenewal) > 2*time.Second || h.WindowLeft < leaseHorizon-2*time.Second {
			t.Errorf("after the outage: %+v", h)
		}
	})
}

func TestOnChangeTellsEveryTransition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var told []string
		g := lease(t, newFake(2), func(c *core.Config) {
			c.OnChange = func(h core.Health) {
				what := fmt.Sprint(h.Workers[0].WorkerID, " healthy")
				for _, err := range []error{core.ErrWindowEnded, core.ErrClockRollback, core.ErrWindowNotOpen, core.ErrClosed} {
					if errors.Is(h.Err, err) {
						what = fmt.Sprint(h.Workers[0].WorkerID, " ", err)
					}
				}
				mu.Lock()
				defer mu.Unlock()
				told = append(told, what)
			}
		})
		expect := func(want ...string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if strings.Join(told, "; ") != strings.Join(want, "; ") {
				t.Errorf("told was %q, want %q", told, want)
			}
			told = nil
		}
		settle(time.Minute)
		expect() // renewals are no change

		g.fake.Refuse(true)
		settle(40 * time.Second)
		expect("0 core: issue window ended")
		g.fake.Refuse(false)
		settle(2 * time.Second)
		expect("0 healthy")

		g.fake.DelayReplies(coordtest.Acquire, time.Second, 1)
		thief := g.fake.Steal(0)
		settle(2 * time.Second)
		expect("0 core: issue window ended", "1 healthy")

		g.next()
		g.clock.Step(-10 * time.Second) // the thief has the only other worker ID
		settle(time.Second)
		expect("1 core: clock stepped back")
		settle(15 * time.Second)
		expect("1 healthy")

		if err := g.fake.Client().Release(t.Context(), thief, thief.NotBefore); err != nil {
			t.Fatal(err)
		}
		settle(time.Minute) // its window lies behind then
		g.next()
		g.clock.Step(-20 * time.Second)
		settle(time.Second)
		mu.Lock()
		if len(told) == 0 || told[len(told)-1] != "0 healthy" {
			t.Errorf("after another worker ID was taken, told was %q", told)
		}
		told = nil
		mu.Unlock()
		if err := g.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
		expect("0 core: generator closed")
	})
}

// The change to the piece above a floor is neither a renewal nor a new worker ID.
func TestPieceIsNoRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(1))
		start := time.Now()
		g.fake.RaiseFloor(g.tick() + 32_000)
		settle(25 * time.Second)
		g.fake.Refuse(true)
		before := g.Health()
		settle(8 * time.Second)
		g.next()
		h := g.Health()
		if w := h.Workers[0]; !w.Since.Equal(start) || !w.LastRenewal.Equal(before.LastRenewal) || !h.LastRenewal.Equal(before.LastRenewal) {
			t.Errorf("held since %v and renewed at %v; Health says %+v", start, before.LastRenewal, w)
		}
	})
}
