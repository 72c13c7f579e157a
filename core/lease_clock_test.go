package core_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/core"
)

func TestStepBackWithoutAFreeWorkerIDIsReportedOnceAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(1))
		settle(3 * time.Second)
		last, lastAt := g.next(), g.clock.Time()
		g.clock.Step(-10 * time.Second)
		settle(time.Second)
		for range 5 {
			began := time.Now()
			_, err := g.NextContext(t.Context())
			if !errors.Is(err, core.ErrClockRollback) || time.Since(began) != 0 {
				t.Fatalf("NextContext: %v after %v", err, time.Since(began))
			}
			now := g.clock.Time()
			wantText(t, err, fmt.Sprintf("core: clock stepped back by %v: it says %s, the last ID of worker ID 0 carries %s; 5ms is tolerated; service resumes by itself when the clock has caught up or another worker ID is leased", lastAt.Sub(now), at(now), at(lastAt)))
			settle(500 * time.Millisecond)
		}
		settle(8 * time.Second)
		if id := g.next(); id <= last {
			t.Errorf("after %d came %d", last, id)
		}
		if h := g.Health(); h.Rollbacks != 1 || h.Errors.ClockRollback != 5 {
			t.Errorf("one step back and five refusals: %d rollbacks, %+v", h.Rollbacks, h.Errors)
		}
	})
}

func TestStepBackIsHealedByAnotherWorkerID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(3))
		settle(3 * time.Second)
		seen := map[core.ID]bool{}
		for range 4 {
			for range 100 {
				id := g.next()
				if seen[id] {
					t.Fatalf("%d twice", id)
				}
				seen[id] = true
				settle(10 * time.Millisecond)
			}
			g.clock.Step(-500 * time.Millisecond)
			settle(10 * time.Millisecond)
			if h := g.fake.Holders(); len(h) != 1 || h[0] != g.Health().Workers[0].WorkerID {
				t.Errorf("held are %v, in use is %+v", h, g.Health().Workers)
			}
		}
	})
}

// A raised floor: IDs go on to the end of the window, nothing is stamped up to the
// floor, and then they go on above it.
func TestQuarantineLeavesAGapAndEndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(1))
		start := time.Now()
		floor := g.tick() + 40_000
		g.fake.RaiseFloor(floor)
		var before, after int
		for time.Since(start) < time.Minute {
			settle(20 * time.Millisecond)
			id, err := g.Next()
			if err != nil {
				if !errors.Is(err, core.ErrWindowNotOpen) && !errors.Is(err, core.ErrWindowEnded) {
					t.Fatalf("Next: %v", err)
				}
				if since := time.Since(start); since <= 30*time.Second || since > 40*time.Second {
					t.Fatalf("%v after the floor was raised: %v", since, err)
				}
				continue
			}
			switch tick := int64(g.layout.Decompose(id).Time.Sub(g.layout.Epoch) / time.Millisecond); {
			case tick <= floor-10_000:
				before++
			case tick > floor:
				after++
			default:
				t.Fatalf("tick %d was stamped, nothing may be in (%d, %d]", tick, floor-10_000, floor)
			}
		}
		if before < 1400 || after < 900 || g.Health().Workers[0].WorkerID != 0 {
			t.Errorf("%d IDs before and %d after the gap", before, after)
		}
	})
}
