package drivertest

import (
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// StepsBack steps the clock of a generator back by up to 900 ms, and checks that its IDs rise and
// that it keeps its worker ID.
func StepsBack(t *testing.T, c coord.Coordinator) {
	t.Helper()
	wall := clocktest.NewShifted(time.Now())
	g, err := core.New(Within(t), c, core.Config{Clock: wall})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := g.Close(Within(t)); err != nil {
			t.Errorf("Close: %v", err)
		}
	}()
	worker := g.Health().Workers[0].WorkerID
	for _, step := range []time.Duration{6, 10, 50, 300, 900} {
		step *= time.Millisecond
		last, err := g.NextContext(Within(t))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		wall.Step(-step)
		if _, err := g.TryNext(); err != nil && !errors.Is(err, core.ErrClockRollback) &&
			!errors.Is(err, core.ErrSequenceExhausted) {
			t.Errorf("after a step back by %v: %v", step, err)
		}
		id, err := g.NextContext(Within(t))
		switch now := g.Health().Workers[0].WorkerID; {
		case err != nil:
			t.Fatal(err)
		case id <= last:
			safetytest.Of(t).Errorf("after a step back by %v, ID %d came after %d", step, id, last)
		case now != worker:
			t.Errorf("after a step back by %v, the worker ID is %d; it was %d", step, now, worker)
		}
		t.Logf("after a step back by %v the next ID came after %v", step, time.Since(began))
		wall.Step(step)
	}
}
