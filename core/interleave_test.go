package core

import (
	"bytes"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/keeper"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// hooked is a clock that lets something happen at the moment at which it is read:
// before the reading is taken, or between taking it and returning it.
type hooked struct {
	micro         int64
	before, after func()
}

func (h *hooked) UnixMicro() int64 {
	if f := h.before; f != nil {
		h.before = nil
		f()
	}
	now := h.micro
	if f := h.after; f != nil {
		h.after = nil
		f()
	}
	return now
}

// Alarm implements clock.Alarmer: time stands still.
func (h *hooked) Alarm(int64) (<-chan struct{}, func()) { return make(chan struct{}), func() {} }

// hookedGenerator returns a generator with layout 41/10/12 whose clock stands at
// tick 1000 and whose window is (500, 1e6]. Its keeper is not started: the test is
// the only one who reads the clock and changes terms.
func hookedGenerator(t *testing.T, cfg Config) (*Generator, *hooked) {
	t.Helper()
	h := &hooked{micro: DefaultLayout().scale().Micro(1000)}
	cfg.Clock = h
	return unkept(t, cfg), h
}

// unkept returns a generator with layout 41/10/12 and the window (500, 1e6] whose
// keepers are not started.
func unkept(t *testing.T, cfg Config) *Generator {
	t.Helper()
	cfg.Layout = DefaultLayout()
	s, err := cfg.resolve(nobody{})
	if err != nil {
		t.Fatal(err)
	}
	g := newGenerator(&s)
	for i, st := range g.stripes {
		st.keeper = keeper.New(keeper.Config{Lease: s.Lease})
		st.Swap(keeper.Term{Grant: coord.Grant{
			WorkerID: i, Generation: 1, NotBefore: 500,
			NotAfter: 1e6,
		}})
	}
	return g
}

// nobody is a coordinator that is never asked.
type nobody struct{ coord.Coordinator }

// mustNext takes an ID that cannot be refused.
func mustNext(t *testing.T, g *Generator) ID {
	t.Helper()
	id, err := g.Next()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestClockReadBeforeStateInEveryRetry is the goroutine that is preempted right after it has
// read the clock, and again at each of its next readings. When it goes on, others have moved
// the state by ten seconds. It must not judge them by its old reading.
func TestClockReadBeforeStateInEveryRetry(t *testing.T) {
	ctx := t.Context()
	for name, call := range map[string]func(*Generator) (ID, error){
		"Next":        (*Generator).Next,
		"TryNext":     (*Generator).TryNext,
		"NextContext": func(g *Generator) (ID, error) { return g.NextContext(ctx) },
		"Fill": func(g *Generator) (ID, error) {
			var dst [1]ID
			_, err := g.Fill(ctx, dst[:])
			return dst[0], err
		},
	} {
		for _, times := range []uint64{1, 20} {
			g, h := hookedGenerator(t, Config{RollbackTolerance: -1})
			var other ID
			others := uint64(0)
			var again func()
			again = func() {
				h.micro += 10_000_000
				other = mustNext(t, g)
				if others++; others < times {
					h.after = again
				}
			}
			h.after = again
			id, err := call(g)
			if err != nil || id <= other {
				safetytest.Unless(t, err).Errorf("%s: %d, %v, after %d others up to %d", name, id, err, others,
					other)
			}
			if h := g.Health(); h.Rollbacks != 0 || h.Errors != (ErrorCounts{}) || h.Issued != others+1 {
				t.Errorf("%s: health: %+v", name, h)
			}
		}
	}
}

// TestWindowReadAfterState is the goroutine that finds its window at an end, while
// the keeper extends it: what it refuses on must have been read after the state.
func TestWindowReadAfterState(t *testing.T) {
	g, h := hookedGenerator(t, Config{})
	mustNext(t, g)
	h.micro = g.scale.Micro(1e6 + 1)
	h.before = func() { // the first reading, of the short way
		h.before = func() { g.stripes[0].Extend(2e6) } // the second one, of the long way
	}
	if _, err := g.Next(); err != nil {
		t.Errorf("the window was extended before the call judged it: %v", err)
	}
	if h.before != nil {
		t.Error("the test never came to extend the window")
	}
}

// TestStalledCallCannotReachTheNextTerm is the goroutine that is preempted before
// its compare-and-swap, while the keeper moves the generator to another worker ID
// with a lower window. Its swap must fail, and must not touch the new term.
func TestStalledCallCannotReachTheNextTerm(t *testing.T) {
	g, h := hookedGenerator(t, Config{})
	mustNext(t, g)
	h.after = func() {
		if last := swapTo(t, g.stripes[0], 9, 400, true); last != 1000 {
			safetytest.Of(t).Errorf("Swap returned tick %d, want 1000", last)
		}
	}
	if p := DefaultLayout().Decompose(mustNext(t, g)); p.WorkerID != 9 || p.Sequence != 0 {
		t.Errorf("got %+v, want the first ID of worker ID 9", p)
	}
	if n := g.Health().Issued; n != 2 {
		t.Errorf("Issued is %d, want 2", n)
	}
}

// TestClosedTermNeverReopens closes a term and does everything to it that could
// bring it back.
func TestClosedTermNeverReopens(t *testing.T) {
	g, h := hookedGenerator(t, Config{})
	id := mustNext(t, g)
	st := g.stripes[0]
	old := st.term.Load()
	if last := st.Shut(coord.ErrLeaseLost); last != 1000 {
		safetytest.Of(t).Errorf("Shut returned tick %d, want 1000", last)
	}
	st.Extend(2e6)
	st.Explain(nil)
	h.micro += 1_000_000
	for range 3 {
		if _, err := g.Next(); !errors.Is(err, ErrWindowEnded) {
			safetytest.Unless(t, err).Fatalf("after the gate was shut: %v", err)
		}
	}
	if last := st.Shut(nil); last != 1000 {
		safetytest.Of(t).Errorf("the second Shut returned tick %d, want 1000", last)
	}
	swapTo(t, st, 3, 700, false)
	if next := mustNext(t, g); next <= id {
		safetytest.Of(t).Errorf("got %d after %d", next, id)
	}
	if word := old.state.Load(); word&closedBit == 0 || g.rule.tick(word) != 1000 {
		safetytest.Of(t).Errorf("the closed word is %#x", word)
	}
}

// TestCallDuringSwap meets the closed gate between the closing of one term and the
// publication of the next. It must wait for the new term and not report a failure.
func TestCallDuringSwap(t *testing.T) {
	g, _ := hookedGenerator(t, Config{})
	st := g.stripes[0]
	st.mu.Lock() // a swap is under way
	st.closeTerm(st.term.Load())
	result := make(chan error)
	go func() {
		_, err := g.TryNext()
		result <- err
	}()
	for stacks := make([]byte, 1<<20); !bytes.Contains(stacks[:runtime.Stack(stacks, true)],
		[]byte("(*stripe).awaitTerm(")); {
		select {
		case err := <-result:
			t.Fatalf("the call did not wait for the swap: %v", err)
		default:
			runtime.Gosched()
		}
	}
	st.term.Store(newTerm(&g.rule, coord.Grant{
		WorkerID: 4, Generation: 1, NotBefore: 600,
		NotAfter: 1e6,
	}, 0, time.Time{}))
	st.mu.Unlock()
	if err := <-result; err != nil {
		t.Errorf("the call after the swap: %v", err)
	}
}

// TestExtendNeverShrinks reorders renewals.
func TestExtendNeverShrinks(t *testing.T) {
	g, h := hookedGenerator(t, Config{})
	st := g.stripes[0]
	st.Extend(3e6)
	st.Extend(2e6)
	h.micro = g.scale.Micro(3e6)
	mustNext(t, g)
	if n := st.term.Load().notAfter.Load(); n != 3e6 {
		safetytest.Of(t).Errorf("NotAfter is %d, want 3e6", n)
	}
}

// TestHashedStarts checks that first sequence numbers are spread, stay below n, and
// do not disturb the count.
func TestHashedStarts(t *testing.T) {
	const n = 8
	g, h := hookedGenerator(t, Config{SpreadBelow: n})
	seen := map[int]int{}
	for range 400 {
		h.micro += 1000
		seen[DefaultLayout().Decompose(mustNext(t, g)).Sequence]++
		mustNext(t, g)
		mustNext(t, g)
	}
	for s := range n {
		if k := seen[s]; len(seen) != n || k < 20 || k > 90 {
			t.Errorf("first sequence number %d came %d times of 400, as one of %d", s, k, len(seen))
		}
	}
	if got := g.Health().Issued; got != 1200 {
		t.Errorf("Issued is %d, want 1200", got)
	}
}

// TestNoticeWakesOnChange checks that a look of the keeper wakes those who wait only
// if it found something new: otherwise thousands of them ask again and again, all
// through an outage.
func TestNoticeWakesOnChange(t *testing.T) {
	g, h := hookedGenerator(t, Config{})
	st := g.stripes[0]
	st.Notice()
	look := func(what string, want bool) {
		t.Helper()
		changed, woken := g.changed.wait(), false
		st.Notice()
		select {
		case <-changed:
			woken = true
		default:
		}
		if woken != want {
			t.Errorf("%s: everybody was woken: %v, want %v", what, woken, want)
		}
	}
	look("nothing changed", false)
	h.micro = g.scale.Micro(1e6 + 1)
	look("the window has ended", true)
	look("the window has still ended", false)
	st.Extend(2e6)
	look("the window was extended", true)
}
