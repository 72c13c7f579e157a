package core_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/core/coretest"
	"github.com/unalike-id/unalike/internal/benchtest"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// TestFillPastTheWindow asks for more IDs than fit before the window ends, while the coordinator
// cannot be reached: the IDs that fit are good, and the error is that of the window.
func TestFillPastTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(1), func(cfg *core.Config) {
			cfg.Layout.Unit, cfg.Layout.TimeBits, cfg.Layout.SequenceBits = time.Second, 34, 1
		})
		g.fake.Refuse(true)
		ctx, cancel := context.WithTimeout(t.Context(), 3*leaseHorizon)
		defer cancel()
		dst := make([]core.ID, 500)
		n, err := g.Fill(ctx, dst)
		if !errors.Is(err, core.ErrWindowEnded) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Fill: %v", err)
		}
		if fits := 2 * int(leaseHorizon/time.Second); n < fits-2 || n > fits+2 {
			t.Errorf("%d IDs, want about %d", n, fits)
		}
		for i, id := range dst {
			if i < n && i > 0 && id <= dst[i-1] || i >= n && id != 0 {
				safetytest.Of(t).Errorf("ID %d of %d is %d, after %d", i, n, id, dst[i-1])
			}
		}
	})
}

// TestSpentSequencesSleep fills at the ceiling of the layout: until the next tick, it sleeps.
// On a busy machine it has less of the processor, not more.
func TestSpentSequencesSleep(t *testing.T) {
	g := coretest.NewWith(t, core.Config{Layout: core.DefaultLayout(), Clock: clock.System()})
	dst := make([]core.ID, core.DefaultLayout().SequencesPerTick())
	before := benchtest.CPUTime()
	if before == 0 {
		t.Skip("this system does not tell the processor time")
	}
	began := time.Now()
	for range 200 {
		if _, err := g.Fill(t.Context(), dst); err != nil {
			t.Fatal(err)
		}
	}
	after := benchtest.CPUTime()
	if spent, passed := after-before, time.Since(began); spent > passed*4/10 {
		t.Errorf("%v of processor time in %v", spent, passed)
	}
}
