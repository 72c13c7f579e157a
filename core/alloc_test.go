package core_test

import (
	"context"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/core/coretest"
)

// TestNoAllocations counts allocations of the calls that make IDs, including those
// of the ticks they enter.
func TestNoAllocations(t *testing.T) {
	ctx := context.Background()
	dst := make([]core.ID, 100)
	for name, cfg := range map[string]core.Config{
		"one worker ID": {Layout: wide()},
		"coarse clock":  {Layout: wide(), Clock: clock.Coarse()},
		"hashed starts": {Layout: wide(), SequenceStart: 1000},
		"lead":          {Layout: wide(), Lead: 5 * time.Millisecond},
		"three stripes": {Layout: wide(), Stripes: 3},
	} {
		if cfg.Clock == nil {
			cfg.Clock = newSteady()
		}
		cfg.RollbackTolerance = time.Minute
		g := coretest.NewWith(t, cfg)
		for call, f := range map[string]func() error{
			"Next":        func() error { _, err := g.Next(); return err },
			"TryNext":     func() error { _, err := g.TryNext(); return err },
			"NextContext": func() error { _, err := g.NextContext(ctx); return err },
			"Fill":        func() error { _, err := g.Fill(ctx, dst); return err },
		} {
			if n := testing.AllocsPerRun(5000, func() {
				if err := f(); err != nil {
					t.Fatal(err)
				}
			}); n != 0 {
				t.Errorf("%s, %s: %v allocations", name, call, n)
			}
		}
	}
}
