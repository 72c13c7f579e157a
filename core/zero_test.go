package core_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/core/coretest"
)

// TestLastWordOfAll closes a generator whose state word has all 63 bits set, which is
// the last ID of a layout without worker bits. Closed, the word plus 1 wraps.
func TestLastWordOfAll(t *testing.T) {
	l := core.Layout{Epoch: coretest.Start().AddDate(-10, 0, 0), Unit: time.Millisecond, TimeBits: 53, SequenceBits: 10}
	c := clocktest.NewManual(l.Expires().Add(-l.Unit))
	g := coretest.NewWith(t, core.Config{Layout: l, Clock: c})
	ids := make([]core.ID, l.SequencesPerTick())
	if n, err := g.Fill(context.Background(), ids); err != nil || n != len(ids) || ids[n-1] != l.MaxID() {
		t.Fatalf("Fill: %d, %v, the last one is %d; want %d", n, err, ids[len(ids)-1], l.MaxID())
	}
	if _, err := g.Next(); !errors.Is(err, core.ErrTimeExhausted) {
		t.Fatalf("after the last ID of all: %v", err)
	}
	if err := g.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if id, err := g.Next(); !errors.Is(err, core.ErrClosed) {
			t.Fatalf("after Close: %d, %v", id, err)
		}
	}
}

// TestZeroGenerator calls everything on a Generator that New did not make.
func TestZeroGenerator(t *testing.T) {
	var g core.Generator
	ctx := context.Background()
	for name, f := range map[string]func() error{
		"Next":        func() error { _, err := g.Next(); return err },
		"TryNext":     func() error { _, err := g.TryNext(); return err },
		"NextContext": func() error { _, err := g.NextContext(ctx); return err },
		"Fill":        func() error { _, err := g.Fill(ctx, make([]core.ID, 3)); return err },
		"Ready":       func() error { return g.Ready(ctx) },
		"Check":       g.Check,
		"Health":      func() error { return g.Health().Err },
	} {
		if err := f(); !errors.Is(err, core.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := g.Close(ctx); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// TestNilContext passes no context where one is needed.
func TestNilContext(t *testing.T) {
	var none context.Context
	g := coretest.New(t)
	for name, f := range map[string]func() error{
		"New": func() error {
			_, err := core.New(none, coordtest.NewFake(coordtest.FakeConfig{}).Client(), core.Config{})
			return err
		},
		"NextContext": func() error { _, err := g.NextContext(none); return err },
		"Fill":        func() error { _, err := g.Fill(none, make([]core.ID, 3)); return err },
		"Ready":       func() error { return g.Ready(none) },
		"Close":       func() error { return g.Close(none) },
	} {
		if err := f(); !errors.Is(err, core.ErrInvalidConfig) || err.Error() != "core: invalid configuration: ctx is nil; pass context.Background()" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := g.Next(); err != nil {
		t.Errorf("Next afterwards: %v", err)
	}
}

// TestCoretestRollback does what the documentation of coretest advises.
func TestCoretestRollback(t *testing.T) {
	c := clocktest.NewManual(coretest.Start())
	g := coretest.NewWith(t, core.Config{Clock: c})
	if _, err := g.Next(); err != nil {
		t.Fatal(err)
	}
	c.Advance(-time.Second)
	for range 1000 {
		if id, err := g.Next(); !errors.Is(err, core.ErrClockRollback) {
			t.Fatalf("after a step back: %d, %v", id, err)
		}
	}
	if n := g.Health().Rollbacks; n != 1 {
		t.Errorf("%d rollbacks, want 1", n)
	}
	c.Advance(time.Second)
	if id, err := g.Next(); id != coretest.First+1 || err != nil {
		t.Errorf("when the clock has caught up: %d, %v", id, err)
	}
}
