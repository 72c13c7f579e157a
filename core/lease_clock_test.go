package core_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/core"
)

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
			t.Errorf("after %d came %d", last, id)
		}
		if h := g.Health(); h.Rollbacks != 1 || h.Errors.ClockRollback != 5 {
			t.Errorf("one step back and five refusals: %d rollbacks, %+v", h.Rollbacks, h.Errors)
		}
	})
}
