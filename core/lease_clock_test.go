package core_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// Calls that wait for the coordinator wait for the clock as well after a step back by up to 1 s
// beyond the tolerance: the IDs stay in order, and the worker ID is the same.
func TestStepBackOfUpToASecondIsWaitedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(3))
		letSettled(3 * time.Second)
		for _, step := range []time.Duration{6, 50, 300, 900, 1005} {
			step *= time.Millisecond
			last := g.next()
			g.clock.Step(-step)
			if _, err := g.Next(); !errors.Is(err, core.ErrClockRollback) {
				t.Errorf("Next after a step back by %v: %v", step, err)
			}
			began := time.Now()
			id, err := g.NextContext(t.Context())
			if took := time.Since(began); err != nil || id <= last || took > step {
				safetytest.Unless(t, err).Errorf("%v after a step back by %v, %d came after %d: %v", took, step,
					id, last, err)
			}
			letSettled(time.Second)
		}
		if h := g.Health(); h.Workers[0].WorkerID != 0 || h.Workers[0].Generation != 1 {
			t.Errorf("the worker ID has changed: %+v", h.Workers)
		}
	})
}

// A call that waits for the clock returns an error when the clock steps back much further.
func TestStepBackFurtherEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(1))
		letSettled(3 * time.Second)
		g.next()
		g.clock.Step(-900 * time.Millisecond)
		ended := make(chan error)
		go func() {
			_, err := g.NextContext(t.Context())
			ended <- err
		}()
		letSettled(100 * time.Millisecond)
		g.clock.Step(-time.Hour)
		select {
		case err := <-ended:
			if !errors.Is(err, core.ErrClockRollback) {
				t.Errorf("NextContext: %v", err)
			}
		case <-time.After(time.Second):
			t.Error("NextContext waits for a clock that is an hour behind")
			g.clock.Step(2 * time.Hour)
			t.Log(<-ended)
		}
	})
}

func TestStepBackWithoutAFreeWorkerIDIsReportedOnceAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(1))
		letSettled(3 * time.Second)
		last, lastAt := g.next(), g.clock.Time()
		g.clock.Step(-10 * time.Second)
		letSettled(time.Second)
		for range 5 {
			began := time.Now()
			_, err := g.NextContext(t.Context())
			if took := time.Since(began); took != 0 {
				t.Fatalf("NextContext took %v", took)
			}
			now := g.clock.Time()
			wantText(t, err, fmt.Sprintf("core: clock stepped back by %v: it says %s, the last ID of "+
				"worker ID 0 carries %s; 5ms is tolerated; service resumes by itself when the clock has "+
				"caught up or another worker ID is leased",
				lastAt.Sub(now), at(now), at(lastAt)), core.ErrClockRollback)
			letSettled(500 * time.Millisecond)
		}
		letSettled(8 * time.Second)
		if id := g.next(); id <= last {
			safetytest.Of(t).Errorf("after %d came %d", last, id)
		}
		if h := g.Health(); h.Rollbacks != 1 || h.Errors.ClockRollback != 5 {
			t.Errorf("one step back and five refusals: %d rollbacks, %+v", h.Rollbacks, h.Errors)
		}
	})
}
