package core

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/keeper"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// workerOf returns the worker ID of an ID of the default layout.
func workerOf(id ID) int { return DefaultLayout().Decompose(id).WorkerID }

// TestHintsBeginAtDifferentStripes checks that processors begin at the stripes in turn, and
// that each has a hint.
func TestHintsBeginAtDifferentStripes(t *testing.T) {
	for _, stripes := range []int{2, 3, 1000} {
		g, _ := hookedGenerator(t, Config{Stripes: stripes})
		if n := len(g.lastStripes); n < runtime.GOMAXPROCS(0) || n < stripes || n&(n-1) != 0 {
			t.Errorf("%d hints for %d stripes and %d processors", n, stripes, runtime.GOMAXPROCS(0))
		}
		for i := range g.lastStripes {
			if g.lastStripes[i].stripe.Load() != g.stripes[i%stripes] {
				t.Errorf("hint %d of %d stripes does not begin at stripe %d", i, stripes, i%stripes)
			}
		}
	}
}

// homeAt has every processor begin at one stripe.
func homeAt(g *Generator, at int) {
	for i := range g.lastStripes {
		g.lastStripes[i].stripe.Store(g.stripes[at])
	}
}

// TestLostRaceMovesOn: who has lost a race on a stripe takes an ID of the next one, and so does
// whoever comes after on that processor. No reading of the clock is needed, and none is believed
// that lies before the tick.
func TestLostRaceMovesOn(t *testing.T) {
	g, h := hookedGenerator(t, Config{Stripes: 3})
	for _, st := range g.stripes {
		g.take(st, 1) // enters the tick
	}
	for i, st := range g.stripes {
		homeAt(g, i)
		h.before = func() { t.Error("the clock was read once more") }
		if id, ok := g.again(st, 1000); !ok || workerOf(id) != (i+1)%3 {
			t.Errorf("after a lost race on stripe %d: worker ID %d, %v", i, workerOf(id), ok)
		}
		h.before = nil
		if id := mustNext(t, g); workerOf(id) != (i+1)%3 {
			t.Errorf("after that: worker ID %d, want %d", workerOf(id), (i+1)%3)
		}
		if id, ok := g.again(st, 999); ok {
			safetytest.Of(t).Errorf("%d was issued ahead of the clock", id)
		}
	}
}

// TestChangeOfAnotherTermIsWaitedFor: one stripe's window has ended, and another one's term is
// just being replaced. Nobody is refused because of the moment between its two terms.
func TestChangeOfAnotherTermIsWaitedFor(t *testing.T) {
	g, h := hookedGenerator(t, Config{Stripes: 2})
	g.stripes[0].Swap(keeper.Term{Grant: coord.Grant{Generation: 2, NotBefore: 500, NotAfter: 600}})
	homeAt(g, 1)
	st := g.stripes[1]
	st.mu.Lock()
	st.closeTerm(st.term.Load())
	h.after = func() { // of the short way, for which stripe 1 is closed
		h.after = func() { // of stripe 0, after stripe 1 was passed over
			st.term.Store(newTerm(&g.rule, coord.Grant{
				WorkerID: 9, Generation: 2, NotBefore: 500,
				NotAfter: 1e6,
			}, 0, time.Now()))
			st.mu.Unlock()
		}
	}
	if id, err := g.Next(); err != nil || workerOf(id) != 9 {
		t.Errorf("%d, %v; want an ID of worker ID 9", workerOf(id), err)
	}
}

// TestOneReadingForEachID: goroutines that race for the numbers of one tick read the clock once
// for each ID, and once more for whoever enters the tick, however many races they lose.
func TestOneReadingForEachID(t *testing.T) {
	const goroutines, each = 4, 1000
	for range 20 {
		c := &stepping{Manual: clocktest.NewManual(time.UnixMicro(DefaultLayout().scale().Micro(1000)))}
		g := unkept(t, Config{Clock: c})
		c.n.Store(0)
		var all sync.WaitGroup
		for range goroutines {
			all.Go(func() {
				for range each {
					if _, err := g.Next(); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if n := -c.n.Load(); n > goroutines*each+goroutines {
			t.Fatalf("%d readings for %d IDs", n, goroutines*each)
		}
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
		homeAt(g, i)
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
	g.stripes[1].Swap(keeper.Term{Grant: coord.Grant{
		WorkerID: 7, Generation: 1, NotBefore: 500,
		NotAfter: 1000,
	}})
	if id := mustNext(t, g); workerOf(id) != 7 {
		safetytest.Of(t).Errorf("worker ID %d, want 7", workerOf(id))
	}
	h.micro += 1000
	homeAt(g, 1)
	for range 10 {
		if id := mustNext(t, g); workerOf(id) != 0 {
			safetytest.Of(t).Errorf("worker ID %d, want 0: the window of the other one has ended",
				workerOf(id))
		}
	}
}
