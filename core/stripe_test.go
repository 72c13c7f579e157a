package core

import (
	"runtime"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/keeper"
)

// workerOf returns the worker ID of an ID of the default layout.
func workerOf(id ID) int { return DefaultLayout().Decompose(id).WorkerID }

// TestHintsBeginAtDifferentStripes checks that processors begin at the stripes in turn, and
// that each has a hint.
func TestHintsBeginAtDifferentStripes(t *testing.T) {
	for _, stripes := range []int{2, 3, 4, 1000} {
		g, _ := hookedGenerator(t, Config{Stripes: stripes})
		if n := len(g.hints); n < runtime.GOMAXPROCS(0) || n < stripes || n&(n-1) != 0 {
			t.Errorf("%d hints for %d stripes and %d processors", n, stripes, runtime.GOMAXPROCS(0))
		}
		for i := range g.hints {
			if at := g.hints[i].at.Load(); int(at) != i%stripes {
				t.Errorf("hint %d of %d stripes begins at %d", i, stripes, at)
			}
		}
	}
}

// homeAt has every processor begin at one stripe.
func homeAt(g *Generator, at int32) {
	for i := range g.hints {
		g.hints[i].at.Store(at)
	}
}

// TestLostRaceMovesOn has another caller stamp on the same stripe between the load of its
// state and the compare-and-swap: the ID then comes from the next stripe, with one reading
// of the clock for each.
func TestLostRaceMovesOn(t *testing.T) {
	g, h := hookedGenerator(t, Config{Stripes: 3})
	homeAt(g, 2)
	readings := 0
	h.after = func() {
		g.take(g.stripes[2], 1)
		h.after = func() { readings++ }
	}
	if id := mustNext(t, g); workerOf(id) != 0 {
		t.Errorf("after a lost race on the last of three stripes: worker ID %d, want 0", workerOf(id))
	}
	if readings != 1 {
		t.Error("the second stripe was served without a reading of the clock")
	}
}

// TestClosedStripeIsPassedBy takes an ID while the first stripe is closed and its lock is
// held, as in the middle of a change of its term: the other one serves without that lock.
func TestClosedStripeIsPassedBy(t *testing.T) {
	g, _ := hookedGenerator(t, Config{Stripes: 2})
	homeAt(g, 0)
	st := g.stripes[0]
	st.Shut(nil)
	st.mu.Lock()
	defer st.mu.Unlock()
	if id := mustNext(t, g); workerOf(id) != 1 {
		t.Errorf("worker ID %d, want 1", workerOf(id))
	}
}

// TestSpreadStripesKeepToTheirOwn enters a tick whose first sequence number is a hash on the
// home stripe, although another one has entered it.
func TestSpreadStripesKeepToTheirOwn(t *testing.T) {
	g, h := hookedGenerator(t, Config{Stripes: 2})
	g.rule.spread = 16
	for i := range g.stripes {
		homeAt(g, int32(i))
		if id := mustNext(t, g); workerOf(id) != i {
			t.Errorf("worker ID %d, want %d", workerOf(id), i)
		}
	}
	h.micro += 1000
	homeAt(g, 1)
	mustNext(t, g)
	homeAt(g, 0)
	if id := mustNext(t, g); workerOf(id) != 0 {
		t.Errorf("worker ID %d, want 0: it moved on although nobody was in its way", workerOf(id))
	}
}

// TestStripeWindows checks that no stripe goes past its own window, however another stands.
func TestStripeWindows(t *testing.T) {
	g, h := hookedGenerator(t, Config{Stripes: 2})
	homeAt(g, 1)
	g.stripes[1].Swap(keeper.Term{Grant: coord.Grant{WorkerID: 7, Generation: 1, NotBefore: 500, NotAfter: 1000}})
	if id := mustNext(t, g); workerOf(id) != 7 {
		t.Errorf("worker ID %d, want 7", workerOf(id))
	}
	h.micro += 1000
	homeAt(g, 1)
	for range 10 {
		if id := mustNext(t, g); workerOf(id) != 0 {
			t.Errorf("worker ID %d, want 0: the window of the other one has ended", workerOf(id))
		}
	}
}
