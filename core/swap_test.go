package core

import (
	"errors"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/keeper"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// swapTo swaps to a term of the given worker ID whose window begins above notBefore.
func swapTo(t *testing.T, st *stripe, worker int, notBefore int64, steppedBack bool) (last int64) {
	t.Helper()
	grant := coord.Grant{WorkerID: worker, Generation: 2, NotBefore: notBefore, NotAfter: 1e6}
	last, ok := st.Swap(keeper.Term{Grant: grant, SteppedBack: steppedBack})
	if !ok {
		t.Fatal("the swap was refused")
	}
	return last
}

// TestSwapKeepsOrder swaps to a window that begins below the last ID, of the same
// worker ID and of another one, at once and by way of a term that stamps nothing.
func TestSwapKeepsOrder(t *testing.T) {
	for _, workers := range [][]int{{0}, {3}, {3, 4}, {3, 0}} {
		g, h := hookedGenerator(t, Config{})
		id := mustNext(t, g)
		st := g.stripes[0]
		for _, worker := range workers {
			if last := swapTo(t, st, worker, 600, false); last != 1000 {
				safetytest.Of(t).Fatalf("%v: Swap returned tick %d, want 1000", workers, last)
			}
			if _, err := g.TryNext(); !errors.Is(err, ErrSequenceExhausted) {
				safetytest.Unless(t, err).Fatalf("%v: tick 1000 is used up by the term before: %v", workers,
					err)
			}
			if last, _ := st.Last(); last != 1000 {
				safetytest.Of(t).Errorf("%v: the new term begins after tick %d, want 1000", workers, last)
			}
		}
		h.micro += 1000
		if next := mustNext(t, g); next <= id {
			safetytest.Of(t).Errorf("%v: after %d came %d", workers, id, next)
		}
	}
}

// TestUnopenedWindowDelaysNoOther swaps away from a term whose window has not opened:
// the next one stamps from its own window's beginning on, or above the last ID that
// there really is.
func TestUnopenedWindowDelaysNoOther(t *testing.T) {
	for _, stamped := range []bool{false, true} {
		g, h := hookedGenerator(t, Config{})
		if stamped {
			mustNext(t, g)
			h.micro += 1000
		}
		st := g.stripes[0]
		swapTo(t, st, 3, 26_000, false)
		if _, err := g.Next(); !errors.Is(err, ErrWindowNotOpen) {
			safetytest.Unless(t, err).Fatalf("Next before the window opens: %v", err)
		}
		swapTo(t, st, 4, 700, false)
		if id := mustNext(t, g); workerOf(id) != 4 {
			safetytest.Of(t).Errorf("an ID stamped before: %v; got one of worker ID %d, want 4", stamped,
				workerOf(id))
		}
	}
}

// TestHealBeginsBelow heals a step back: the order begins anew, and is kept from
// there on.
func TestHealBeginsBelow(t *testing.T) {
	g, h := hookedGenerator(t, Config{})
	mustNext(t, g)
	h.micro = g.scale.Micro(800)
	st := g.stripes[0]
	swapTo(t, st, 3, 600, true)
	swapTo(t, st, 4, 700, false) // nothing was stamped under the one before
	mustNext(t, g)
	swapTo(t, st, 5, 700, false)
	if last, _ := st.Last(); last != 800 {
		safetytest.Of(t).Errorf("the term after tick 800 begins after %d", last)
	}
}

// TestNothingStampedIsNoSpentSequence looks at a window that opens within the
// rollback tolerance. No clock went back, and no ID was made.
func TestNothingStampedIsNoSpentSequence(t *testing.T) {
	g, h := hookedGenerator(t, Config{})
	swapTo(t, g.stripes[0], 0, 1003, false)
	for name, err := range map[string]error{
		"TryNext": second(g.TryNext()), "Next": second(g.Next()),
		"Check": g.Check(),
	} {
		if !errors.Is(err, ErrWindowNotOpen) {
			t.Errorf("%s: %v, want %v", name, err, ErrWindowNotOpen)
		}
	}
	h.micro = g.scale.Micro(1004)
	mustNext(t, g)
}

func second[T any](_ T, err error) error { return err }

// TestCloseRefusesSwapsFromItsBeginning is the keeper that comes back with a grant for
// a stripe whose gate Close has shut, while Close shuts the next one.
func TestCloseRefusesSwapsFromItsBeginning(t *testing.T) {
	g, h := hookedGenerator(t, Config{Stripes: 2})
	came, ok := false, false
	h.before = func() { // the first gate is shut
		h.before = func() { // the second one is
			came = true
			_, ok = g.stripes[0].Swap(keeper.Term{Grant: coord.Grant{
				WorkerID: 5, Generation: 1,
				NotAfter: 1e6,
			}})
		}
	}
	if err := g.Close(t.Context()); err != nil || !came || ok {
		safetytest.Unless(t, err).Errorf("Close: %v; a swap came: %v, and was accepted: %v", err, came,
			ok)
	}
}

// TestTickLeftWhileCounting leaves a tick after its IDs were counted in its state word,
// and before the sum is made.
func TestTickLeftWhileCounting(t *testing.T) {
	g, h := hookedGenerator(t, Config{})
	for range 3 {
		mustNext(t, g)
	}
	n := g.issued(func() uint64 {
		current := g.current()
		h.micro += 1000
		mustNext(t, g) // and this leaves the tick of the three
		return current
	})
	if n != 3 {
		t.Errorf("counted %d IDs, want the three of before", n)
	}
	if n := g.Health().Issued; n != 4 {
		t.Errorf("Issued is %d, want 4", n)
	}
}
