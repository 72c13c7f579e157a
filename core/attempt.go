package core

import (
	"math/bits"
	"runtime"
	"sync/atomic"
	"unsafe"
)

// attempt is the result of trying to stamp IDs.
type attempt struct {
	stripe  *stripe
	term    *term
	verdict verdict
	asked   int    // how many IDs were asked for
	got     int    // issue: how many IDs were taken, with consecutive sequence numbers
	word    uint64 // issue: the state word of the first
	old     uint64 // otherwise: the state that was judged
	now     int64  // the clock that it was judged by
	tick    int64  // wait: the tick that has to come
}

// worthWaiting tells whether time alone can make the attempt succeed: the clock's,
// or, for the patient, the coordinator's.
func (a *attempt) worthWaiting(patient bool) bool {
	switch a.verdict {
	case wait:
		return true
	case ended, notOpen:
		return patient
	case rollback:
		return patient && !a.farBehind()
	case closed:
		return patient && a.stripe != nil && !a.stripe.g.closing.Load()
	}
	return false
}

// farBehind reports whether the clock stepped back so far that the generator does not wait for
// it, but leases another worker ID.
func (a *attempt) farBehind() bool {
	rule := &a.stripe.g.rule
	return a.verdict == rollback && rule.tick(a.old)-a.now > rule.catchUp
}

// explain makes the error for an attempt that failed.
func (a *attempt) explain() error {
	if a.stripe == nil {
		return ErrClosed
	}
	return a.stripe.explain(a.verdict, a.term, a.old, a.now)
}

// refuse makes the error of an attempt, counts it and tells the keeper.
func (g *Generator) refuse(a attempt) error {
	if a.stripe == nil {
		return ErrClosed
	}
	v := g.count(a)
	if v != wait {
		a.stripe.note(v)
	}
	return a.explain()
}

// count counts the error that attempt a ends with, and returns what its caller sees.
func (g *Generator) count(a attempt) verdict {
	v := a.verdict
	switch {
	case v != closed || g.closing.Load():
	case a.term.workerID == noWorker:
		v = notStarted
	default:
		v = ended // what the caller sees of a lost lease
	}
	g.refused[v].Add(1)
	return v
}

// lastStripe remembers which stripe served a processor last, so that goroutines on
// different processors keep to different stripes. Each has its line to itself, and is
// written only when the processor moves on to another stripe.
type lastStripe struct {
	stripe atomic.Pointer[stripe]
	_      [cacheLine - unsafe.Sizeof(uintptr(0))]byte
}

// newLastStripes makes a hint for each processor. They begin at the stripes in turn.
func newLastStripes(stripes []*stripe) []lastStripe {
	n := max(runtime.NumCPU(), runtime.GOMAXPROCS(0), len(stripes))
	hints := make([]lastStripe, 1<<bits.Len(uint(n-1)))
	for i := range hints {
		hints[i].stripe.Store(stripes[i%len(stripes)])
	}
	return hints
}

// lastStripe returns the hint of the processor that the caller runs on.
func (g *Generator) lastStripe() *lastStripe {
	return &g.lastStripes[processor()&uint(len(g.lastStripes)-1)]
}

// home returns the stripe that the caller asks first; nil: there is none.
func (g *Generator) home() *stripe {
	if len(g.lastStripes) == 0 {
		return nil
	}
	return g.lastStripe().stripe.Load()
}

// moveOn makes the stripe after s the one that the caller's processor asks first, and returns it.
func (g *Generator) moveOn(s *stripe) *stripe {
	g.lastStripe().stripe.Store(s.next)
	return s.next
}

// grab takes up to n IDs from whichever stripe has some. If none has, the result
// is the most hopeful one: the earliest tick to wait for, or else the reason of
// the stripe that was asked first.
func (g *Generator) grab(n int) attempt {
	if g.only != nil {
		return g.take(g.only, n)
	}
	home := g.home()
	if home == nil { // a zero Generator, which New did not make
		return attempt{verdict: closed}
	}
	a, passed := g.ask(home, n, false)
	if passed && a.verdict != issue {
		a, _ = g.ask(home, n, true)
	}
	return a
}

// ask asks one stripe after the other for up to n IDs, from home on, until one has some. A
// closed one may be in the middle of a change of its term: unless settle is set, it is not
// waited for but passed over, and passed says so.
func (g *Generator) ask(home *stripe, n int, waits bool) (best attempt, passed bool) {
	best.verdict = closed
	for s, first := home, true; first || s != home; s, first = s.next, false {
		if !waits && !s.open() {
			passed = true
			continue
		}
		a := g.take(s, n)
		if a.verdict == issue {
			if s != home {
				g.lastStripe().stripe.Store(s)
			}
			return a, passed
		}
		if best.stripe == nil || a.verdict == wait && (best.verdict != wait || a.tick < best.tick) {
			best = a
		}
	}
	return best, passed
}

// take takes up to n IDs from one stripe: as many as its tick has left, with one
// compare-and-swap.
//
// One reading of the clock serves however many times the swap has to be tried, with
// growing pauses in between.
// But a refusal or a wait is decided only on a reading taken after the state that
// it judges was loaded. Otherwise a goroutine that was preempted between the two
// would compare an old clock with a state that has moved on meanwhile, and report a
// rollback that never happened.
func (g *Generator) take(s *stripe, n int) attempt {
	t := s.term.Load()
	old := t.state.Load()
	lost := 0 // races with other callers
	now, fresh := g.tickNow(), g.fresher == nil
	for {
		//mutant:window-read
		next, v := g.rule.step(old, t.start, t.seed, t.carried, now, t.notAfter.Load())
		switch {
		case v == issue:
			got := g.rule.run(next, n)
			if t.state.CompareAndSwap(old, next+uint64(got)-1) {
				if next>>g.rule.shift != old>>g.rule.shift {
					g.leave(t, old)
				}
				return attempt{stripe: s, term: t, asked: n, got: got, word: next}
			}
			backOff(lost)
			lost++
			old, fresh = t.state.Load(), false
		case v == closed:
			latest := s.awaitTerm()
			if latest == t {
				return attempt{stripe: s, term: t, verdict: v, asked: n, old: old, now: now}
			}
			t = latest
			old, fresh = t.state.Load(), false
		case !fresh:
			now, fresh = g.freshTick(), true
		default:
			return attempt{
				stripe: s, term: t, verdict: v, asked: n, old: old, now: now,
				tick: int64(next >> g.rule.shift),
			}
		}
	}
}

// leave counts the IDs of the tick that the state word old belongs to. Whoever
// moved the state on from that tick calls it, so that counting costs nothing per
// ID.
func (g *Generator) leave(t *term, old uint64) {
	if n := g.rule.used(old, t.start, t.seed); n != 0 {
		g.counted.Add(n)
	}
}
