package core_test

import (
	"context"
	"errors"
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
		g.fake.Refuse(true)
		letSettled(20 * time.Second)
		if err := g.Ready(only); err != nil {
			t.Errorf("Ready inside the window: %v", err)
		}
		letSettled(15 * time.Second)
		if err := g.Ready(only); !errors.Is(err, core.ErrWindowEnded) ||
			!errors.Is(err, context.Canceled) {
			t.Errorf("Ready after the window: %v", err)
		}
		time.AfterFunc(5*time.Second, func() { g.fake.Refuse(false) })
		began := time.Now()
		err := g.Ready(t.Context())
		if took := time.Since(began); err != nil || took < 5*time.Second || took > 7*time.Second {
			t.Errorf("ready after %v, %v; the outage was over after 5s", took, err)
		}
	})
}

// Traffic that waits for readiness makes no IDs, so nobody but Check and Ready themselves can
// tell the keeper that the window is over. Check returns at once where Ready waits.
func TestCheckOnlyLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(1))
		letSettled(time.Second)
		g.clock.Step(time.Hour)
		began := time.Now()
		if err := g.Check(); !errors.Is(err, core.ErrWindowEnded) || time.Since(began) != 0 {
			t.Errorf("Check took %v: %v", time.Since(began), err)
		}
		letSettled(100 * time.Millisecond)
		if err := g.Check(); err != nil {
			t.Errorf("the keeper was not told: %v", err)
		}
		letSettled(time.Second)
		g.clock.Step(time.Hour)
		began = time.Now()
		if err := g.Ready(t.Context()); err != nil || time.Since(began) > 100*time.Millisecond {
			t.Errorf("ready %v after the step: %v", time.Since(began), err)
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
		letSettled(10 * time.Second)

		h := g.Health()
		w := h.Workers[0]
		if !h.Healthy || h.Err != nil || w.Err != nil || !errors.Is(w.Failing, coordtest.ErrUnreachable) {
			t.Errorf("inside the window: %+v", h)
		}
		if left := leaseHorizon - 10*time.Second + time.Millisecond; h.WindowLeft != left ||
			w.WindowLeft != left {
			t.Errorf("%v and %v of the window are left, want %v", h.WindowLeft, w.WindowLeft, left)
		}
		if !h.LastRenewal.Equal(started) || !w.Since.Equal(started) || w.WorkerID != 0 ||
			w.Generation != 1 || h.Issued != 7 {
			t.Errorf("started at %v: %+v", started, h)
		}

		letSettled(21 * time.Second)
		for range 3 {
			_, _ = g.Next()
		}
		h = g.Health()
		w = h.Workers[0]
		if h.Healthy ||
			!errors.Is(h.Err, core.ErrWindowEnded) || !errors.Is(w.Err, core.ErrWindowEnded) ||
			h.WindowLeft != 0 || h.Errors != (core.ErrorCounts{WindowEnded: 3}) {
			t.Errorf("after the window, and three refusals: %+v", h)
		}

		g.fake.Refuse(false)
		letSettled(2 * time.Second)
		h = g.Health()
		if !h.Healthy || h.Err != nil || h.Workers[0].Failing != nil ||
			time.Since(h.LastRenewal) > 2*time.Second || h.WindowLeft < leaseHorizon-2*time.Second {
			t.Errorf("after the outage: %+v", h)
		}
	})
}

// The change to the piece above a floor is neither a renewal nor a new worker ID.
func TestPieceIsNoRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(1))
		start := time.Now()
		g.fake.RaiseFloor(g.tick() + 32_000)
		letSettled(25 * time.Second)
		g.fake.Refuse(true)
		renewed := g.Health().LastRenewal
		letSettled(8 * time.Second)
		g.next()
		h := g.Health()
		if w := h.Workers[0]; !w.Since.Equal(start) || !w.LastRenewal.Equal(renewed) ||
			!h.LastRenewal.Equal(renewed) {
			t.Errorf("held since %v and renewed at %v; Health says %+v", start, renewed, w)
		}
	})
}
