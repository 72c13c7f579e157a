package keeper_test

import (
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/keeper"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// ledger knows every term that any keeper of a test has published, and holds the
// keepers to the invariants at each change. Its lock is the lock of all its gates.
type ledger struct {
	t    *testing.T
	fake *coordtest.Fake // nil: what is stored is not looked at

	mu     sync.Mutex
	terms  []*term
	gaps   map[int][]span  // by worker ID: what lies between a window and a raised floor
	stamps map[stamp]*term // who stamped a tick
}

// span is a run of ticks (after, to].
type span struct{ after, to int64 }

func (s span) empty() bool { return s.to <= s.after }

func (s span) overlaps(o span) bool {
	return !s.empty() && !o.empty() && s.after < o.to && o.after < s.to
}

type stamp struct{ worker, tick int64 }

// term is a term at a gate of a test.
type term struct {
	keeper.Term
	from     int64 // it begins after this tick
	last     int64 // the last tick stamped, or from
	stamped  bool
	notAfter int64
	shut     bool
}

// span is what can be stamped, or was if the term is shut.
func (t *term) span() span {
	if t.shut {
		return span{t.from, t.last}
	}
	return span{t.from, t.notAfter}
}

func newLedger(t *testing.T, f *coordtest.Fake) *ledger {
	return &ledger{t: t, fake: f, gaps: map[int][]span{}, stamps: map[stamp]*term{}}
}

// check holds a term that was published or extended to S1, S3 and S5.
func (l *ledger) check(t *term) {
	l.t.Helper()
	w, s := t.Grant.WorkerID, t.span()
	if t.from < t.Grant.NotBefore {
		safetytest.Of(l.t).Errorf("S2: a term of %v begins after tick %d", t.Grant, t.from)
	}
	for _, o := range l.terms {
		if o != t && o.Grant.WorkerID == w && s.overlaps(o.span()) {
			safetytest.Of(l.t).Errorf("S1: %v can stamp %v, and %v can stamp %v", t.Grant, s, o.Grant,
				o.span())
		}
	}
	for _, gap := range l.gaps[w] {
		if s.overlaps(gap) {
			safetytest.Of(l.t).Errorf("S5: %v can stamp %v, and nobody may use %v", t.Grant, s, gap)
		}
	}
	if l.fake != nil {
		if stored := l.fake.Slot(w).NotAfter; stored < t.notAfter {
			safetytest.Of(l.t).Errorf("S3: %v may be used up to tick %d, and stored is %d", t.Grant,
				t.notAfter, stored)
		}
	}
}

// raiseFloor raises the floor and notes which ticks nobody may use from then on.
func (l *ledger) raiseFloor(tick int64, workers int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fake.RaiseFloor(tick)
	for w := range workers {
		if s := l.fake.Slot(w); s.Generation > 0 && s.NotAfter < tick {
			l.gaps[w] = append(l.gaps[w], span{s.NotAfter, tick})
		}
	}
}

// checkAll looks at every term once more.
func (l *ledger) checkAll() {
	if l.fake == nil {
		return
	}
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.terms {
		w, s := t.Grant.WorkerID, t.span()
		for _, gap := range l.gaps[w] {
			if s.overlaps(gap) {
				safetytest.Of(l.t).Errorf("S5: %v can stamp %v, and nobody may use %v", t.Grant, s, gap)
			}
		}
		if stored := l.fake.Slot(w).NotAfter; s.to > stored && !s.empty() {
			safetytest.Of(l.t).Errorf("S3: %v can stamp up to tick %d, and stored is %d", t.Grant, s.to,
				stored)
		}
	}
}

// shutting is a call of Shut.
type shutting struct {
	reason error
	last   int64
}

// gate is a generator's place for one worker ID, without the generator: it keeps
// the rules of core's, and remembers.
type gate struct {
	led   *ledger
	now   func() int64 // the generator's clock, in ticks
	limit int64        // how far behind the last tick the clock may be

	// Guarded by the ledger's lock.
	term    *term
	mine    []*term
	carried int64 // the last tick stamped by the terms before
	shuts   []shutting
	why     error // of Explain
	whys    int   // calls of Explain with an error
	notices int
	closing bool // the generator was closed: nothing is published any more
	zombie  bool // the process is gone or paused: it cannot be shut, and may go on
	refused int
	onLast  func() // called by Last, without the lock, before it looks
	onSwap  func() // called by Swap in the same way
	onLook  func() // called by Notice in the same way
}

var _ keeper.Gate = (*gate)(nil)

func (g *gate) Swap(t keeper.Term) (last int64, ok bool) {
	g.call(func() func() { return g.onSwap })
	g.led.mu.Lock()
	defer g.led.mu.Unlock()
	from := t.Grant.NotBefore
	if g.term != nil {
		last = g.shutTerm()
		if g.term.stamped {
			g.carried = last
		}
		if t.SteppedBack {
			g.carried = 0
		}
		from = max(from, g.carried)
	}
	if g.closing {
		if g.refused++; g.refused > 1000 {
			g.led.t.Error("the keeper goes on swapping at a closed generator")
			runtime.Goexit() // instead of a test that hangs
		}
		return last, false
	}
	g.term = &term{Term: t, from: from, last: from, notAfter: t.Grant.NotAfter}
	g.mine = append(g.mine, g.term)
	g.led.terms = append(g.led.terms, g.term)
	g.led.check(g.term)
	return last, true
}

// shutTerm closes the term. The lock is held.
func (g *gate) shutTerm() int64 {
	if !g.zombie {
		g.term.shut = true
	}
	return g.term.last
}

func (g *gate) Extend(notAfter int64) {
	g.led.mu.Lock()
	defer g.led.mu.Unlock()
	g.term.notAfter = max(g.term.notAfter, notAfter)
	g.led.check(g.term)
}

func (g *gate) Shut(reason error) (last int64) {
	g.led.mu.Lock()
	defer g.led.mu.Unlock()
	if g.term != nil {
		last = g.shutTerm()
	}
	g.shuts = append(g.shuts, shutting{reason, last})
	return last
}

func (g *gate) Explain(reason error) {
	g.led.mu.Lock()
	defer g.led.mu.Unlock()
	g.why = reason
	if reason != nil {
		g.whys++
	}
}

// call calls a hook of the test, if there is one.
func (g *gate) call(hook func() func()) {
	g.led.mu.Lock()
	f := hook()
	g.led.mu.Unlock()
	if f != nil {
		f()
	}
}

func (g *gate) Last() (tick int64, stamped bool) {
	g.call(func() func() { return g.onLast })
	g.led.mu.Lock()
	defer g.led.mu.Unlock()
	if g.term == nil {
		return 0, false
	}
	return g.term.last, g.term.stamped
}

func (g *gate) Notice() {
	g.call(func() func() { return g.onLook })
	g.led.mu.Lock()
	defer g.led.mu.Unlock()
	g.notices++
}

// close is what a generator does first when it is closed.
func (g *gate) close() {
	g.led.mu.Lock()
	g.closing = true
	g.led.mu.Unlock()
	g.Shut(errors.New("closed by the test"))
}

// stamp makes one ID at the present time, and tells whether it got one.
func (g *gate) stamp() bool {
	now := g.now()
	g.led.mu.Lock()
	defer g.led.mu.Unlock()
	return g.stampAt(now, max(now, 0))
}

// stampUpTo pretends that IDs were made up to a tick, whatever the clock says.
func (g *gate) stampUpTo(tick int64) bool {
	g.led.mu.Lock()
	defer g.led.mu.Unlock()
	return g.stampAt(tick, tick)
}

func (g *gate) stampAt(now, tick int64) bool {
	t := g.term
	if t == nil || t.shut {
		return false
	}
	tick = max(tick, t.last)
	if !t.stamped && tick <= t.from || tick-now > g.limit || tick > t.notAfter {
		return false
	}
	t.last, t.stamped = tick, true
	key := stamp{int64(t.Grant.WorkerID), tick}
	if o := g.led.stamps[key]; o != nil && o != t {
		safetytest.Of(g.led.t).Errorf("S1: tick %d of worker ID %d was stamped under %v and under %v",
			tick, key.worker, o.Grant, t.Grant)
	}
	g.led.stamps[key] = t
	return true
}

// at returns a copy of the term in use.
func (g *gate) at() term {
	g.led.mu.Lock()
	defer g.led.mu.Unlock()
	if g.term == nil {
		return term{shut: true}
	}
	return *g.term
}

// published returns how many terms this gate has had.
func (g *gate) published() int {
	g.led.mu.Lock()
	defer g.led.mu.Unlock()
	return len(g.mine)
}

// reason returns what Explain said last.
func (g *gate) reason() error {
	g.led.mu.Lock()
	defer g.led.mu.Unlock()
	return g.why
}

// looks returns how often the keeper has looked at the clock.
func (g *gate) looks() int {
	g.led.mu.Lock()
	defer g.led.mu.Unlock()
	return g.notices
}
