package core_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/core/coretest"
)

// calls are what a caller asks of a generator, by name. All is left after its first ID.
func calls(ctx context.Context, g *core.Generator) map[string]func() error {
	dst := make([]core.ID, 3)
	return map[string]func() error{
		"Next":        func() error { _, err := g.Next(); return err },
		"TryNext":     func() error { _, err := g.TryNext(); return err },
		"NextContext": func() error { _, err := g.NextContext(ctx); return err },
		"Fill":        func() error { _, err := g.Fill(ctx, dst); return err },
		"Ready":       func() error { return g.Ready(ctx) },
		"All": func() (err error) {
			for _, err = range g.All(ctx) {
				if err == nil {
					break
				}
			}
			return err
		},
	}
}

// checkCalls makes all calls and demands want of them, and no error of the others.
func checkCalls(ctx context.Context, t *testing.T, g *core.Generator, want error,
	others ...string,
) {
	t.Helper()
	for name, call := range calls(ctx, g) {
		want := want
		if slices.Contains(others, name) {
			want = nil
		}
		if err := call(); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
}

func TestAfterClose(t *testing.T) {
	g := coretest.NewWith(t, core.Config{Clock: clock.System()})
	if _, err := g.Next(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := g.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	checkCalls(t.Context(), t, g, core.ErrClosed)
	h := g.Health()
	if h.Healthy || !errors.Is(h.Err, core.ErrClosed) || h.Issued != 1 || h.Errors.Closed != 5 {
		t.Errorf("Health after Close: %+v", h)
	}
}

// TestZeroGenerator calls everything on a Generator that New did not make.
func TestZeroGenerator(t *testing.T) {
	var g core.Generator
	checkCalls(t.Context(), t, &g, core.ErrClosed)
	if err, bad := g.Check(), g.Health().Err; !errors.Is(err, core.ErrClosed) ||
		!errors.Is(bad, core.ErrClosed) {
		t.Errorf("Check: %v; Health: %v", err, bad)
	}
	if err := g.Close(t.Context()); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// TestNilContext passes no context where one is needed.
func TestNilContext(t *testing.T) {
	var none context.Context
	g := coretest.New(t)
	checkCalls(none, t, g, core.ErrInvalidConfig, "Next", "TryNext")
	_, err := core.New(none, newFake(0).Client(), core.Config{})
	for _, err := range []error{err, g.Close(none)} {
		wantText(t, err, "core: invalid configuration: ctx is nil; pass context.Background()",
			core.ErrInvalidConfig)
	}
}

// TestEndedContext asks with a context that has ended, which spends no ID.
func TestEndedContext(t *testing.T) {
	g := coretest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	checkCalls(ctx, t, g, context.Canceled, "Next", "TryNext", "Ready")
	if n, err := g.Fill(ctx, nil); n != 0 || err != nil {
		t.Errorf("Fill of nothing: %d, %v", n, err)
	}
	if n := g.Health().Issued; n != 2 {
		t.Errorf("%d IDs were spent, want those of Next and TryNext", n)
	}
}

// TestNoAllocations counts allocations of the calls that make IDs, including those
// of the ticks they enter.
func TestNoAllocations(t *testing.T) {
	for name, cfg := range map[string]core.Config{
		"one worker ID": {},
		"coarse clock":  {Clock: clock.Coarse()},
		"hashed starts": {SpreadBelow: 1000},
		"lead":          {Lead: 5 * time.Millisecond},
		"three stripes": {Stripes: 3},
	} {
		if cfg.Clock == nil {
			cfg.Clock = newSteady()
		}
		cfg.Layout, cfg.RollbackTolerance = wide(), time.Minute
		all := calls(t.Context(), coretest.NewWith(t, cfg))
		for _, call := range []string{"Next", "TryNext", "NextContext", "Fill"} {
			if n := testing.AllocsPerRun(5000, func() {
				if err := all[call](); err != nil {
					t.Fatal(err)
				}
			}); n != 0 {
				t.Errorf("%s, %s: %v allocations", name, call, n)
			}
		}
	}
}
