package core_test

import (
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/core/coretest"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// TestLastWordOfAll closes a generator whose state word has all 63 bits set, which is
// the last ID of a layout without worker bits. Closed, the word plus 1 wraps.
func TestLastWordOfAll(t *testing.T) {
	l := core.Layout{
		Epoch: coretest.Start().AddDate(-10, 0, 0), Unit: time.Millisecond, TimeBits: 53,
		SequenceBits: 10,
	}
	c := clocktest.NewManual(l.Expires().Add(-l.Unit))
	g := coretest.NewWith(t, core.Config{Layout: l, Clock: c})
	ids := make([]core.ID, l.SequencesPerTick())
	if n, err := g.Fill(t.Context(), ids); err != nil || n != len(ids) || ids[n-1] != l.MaxID() {
		t.Fatalf("Fill: %d, %v; the last of all is %d", n, err, l.MaxID())
	}
	for range 3 {
		if _, err := g.Next(); !errors.Is(err, core.ErrTimeExhausted) {
			safetytest.Unless(t, err).Fatalf("after the last ID of all: %v", err)
		}
		c.Advance(l.Unit)
	}
	if err := g.Ready(t.Context()); !errors.Is(err, core.ErrTimeExhausted) {
		t.Errorf("Ready: %v", err)
	}
	_, err := core.New(t.Context(), newFake(0).Client(), core.Config{Layout: l, Clock: c})
	if !errors.Is(err, core.ErrTimeExhausted) {
		t.Errorf("New past the end: %v", err)
	}
	if err := g.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkCalls(t.Context(), t, g, core.ErrClosed)
}
