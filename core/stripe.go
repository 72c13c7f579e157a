package core

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/keeper"
)

// stripe is a generator's place for one worker ID: the term in use, and what its
// keeper said of it. Callers read the term pointer; everything else happens under
// the lock and off the hot path.
type stripe struct {
	term   atomic.Pointer[term]
	_      [cacheLine]byte
	g      *Generator
	next   *stripe // in the ring of the generator's stripes
	keeper *keeper.Keeper

	poked      atomic.Bool // the keeper knows of the refusals since it last looked
	rolledBack atomic.Bool // the present rollback is counted
	seen       prospect    // what the keeper's last look found; the keeper's alone

	mu    sync.Mutex  // serializes changes of the term
	grant coord.Grant // what the term in use was made of; the zero value: it stands for none
	// the tick of the last ID of the closed terms, none of which may be repeated; 0: none
	stamped int64
	renewed time.Time // the last renewal that succeeded
	shutAt  time.Time // when the gate was closed; zero: it is open
	failing error     // why the window does not grow; nil: it does
	// refusal is what a caller gets who finds the gate closed or the window over. It
	// is made here, so that refusing costs nothing.
	refusal atomic.Pointer[error]
}

var _ keeper.Gate = (*stripe)(nil)

// newStripe returns a stripe of g without a worker ID: its term is closed from the
// beginning, so that nobody has to ask whether there is one.
func newStripe(g *Generator) *stripe {
	s := &stripe{g: g}
	t := &term{workerID: noWorker}
	t.close()
	s.term.Store(t)
	s.prepare()
	return s
}

// Swap implements keeper.Gate: it closes the term in use and only then publishes
// the new one, so that with one worker ID the order of IDs holds across terms.
func (s *stripe) Swap(t keeper.Term) (last int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.g.readClock()
	since, renewed := now, now
	old := s.term.Load()
	if old.workerID == t.Grant.WorkerID && old.generation == t.Grant.Generation {
		since, renewed = old.began, s.renewed // a piece of the same grant
	}
	last = s.closeTerm(old)
	if t.SteppedBack {
		s.stamped = 0
	}
	if s.g.closing.Load() { //mutant:swap-after-close
		return last, false
	}
	s.renewed, s.grant = renewed, t.Grant
	s.term.Store(newTerm(&s.g.rule, t.Grant, s.stamped, since))
	s.prepare()
	s.g.changed.broadcast()
	return last, true
}

// Extend implements keeper.Gate.
func (s *stripe) Extend(notAfter int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.term.Load().extend(notAfter)
	s.prepare()
}

// Shut implements keeper.Gate.
func (s *stripe) Shut(reason error) (last int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.term.Load()
	if s.g.closing.Load() {
		reason = ErrClosed // whatever the keeper calls it
	}
	if reason != nil {
		s.failing = reason
	}
	last = s.closeTerm(t)
	s.prepare()
	s.g.changed.broadcast()
	return last
}

// Explain implements keeper.Gate.
func (s *stripe) Explain(reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if reason == nil {
		s.renewed = s.g.readClock()
	}
	s.failing = reason
	s.prepare()
	s.g.changed.broadcast()
}

// Last implements keeper.Gate.
func (s *stripe) Last() (tick int64, stamped bool) {
	t := s.term.Load()
	word := t.state.Load() &^ closedBit
	return s.g.rule.tick(word), word != t.start || t.carried //mutant:carried
}

// Notice implements keeper.Gate.
func (s *stripe) Notice() {
	s.poked.Store(false)
	a := s.look()
	now := prospect{a.verdict, a.farBehind()}
	if now.verdict == wait {
		now.verdict = issue // both serve
	}
	if now.verdict != rollback {
		s.rolledBack.Store(false)
	}
	// Whoever waits wants to know of a change. A signal for every look would have
	// thousands of them ask again, a hundred times a second, all through an outage.
	if now != s.seen {
		s.seen = now
		s.g.changed.broadcast()
	}
}

// prospect is what a caller would meet now. A patient caller waits for the clock after a step
// back, unless the clock is far behind.
type prospect struct {
	verdict   verdict
	farBehind bool
}

// poke tells the keeper, once until it has looked, that an ID was refused.
func (s *stripe) poke() {
	if !s.poked.Load() && s.poked.CompareAndSwap(false, true) {
		s.keeper.Poke()
	}
}

// closeTerm shuts the gate of t and counts the IDs of its last tick. The tick that it
// returns is the one that t began after, where t stamped nothing. It runs under the
// lock.
func (s *stripe) closeTerm(t *term) (last int64) {
	word, first := t.close()
	if first {
		s.g.counted.Add(s.g.rule.used(word, t.start, t.seed))
	}
	last = s.g.rule.tick(word)
	if word != t.start {
		s.stamped = last
	}
	return last
}

// prepare makes the error that callers get from now on when they find the gate
// closed or the window over. It runs under the lock.
func (s *stripe) prepare() {
	t := s.term.Load()
	if t.workerID == noWorker {
		var err error = &NotStartedError{Cause: s.failing}
		s.refusal.Store(&err)
		return
	}
	renewed := s.renewed
	if long := s.keeper.Window(); long != nil {
		renewed = long.Renewed
	}
	e := &WindowEndedError{
		WorkerID: t.workerID,
		Lost:     t.state.Load()&closedBit != 0,
		Ended:    s.g.timeOf(t.notAfter.Load() + 1),
		Renewed:  renewed,
		Cause:    s.failing,
	}
	if e.Lost {
		if s.shutAt.IsZero() {
			s.shutAt = s.g.readClock()
		}
		e.Ended = s.shutAt
	} else {
		s.shutAt = time.Time{}
	}
	var err error = e
	s.refusal.Store(&err)
}

// open reports whether the gate is open.
func (s *stripe) open() bool { return s.term.Load().state.Load()&closedBit == 0 }

// awaitTerm waits for a change of the term that is under way, and returns the term
// after it. A caller that met a closed gate would otherwise report a failure
// between the closing of one term and the publication of the next.
func (s *stripe) awaitTerm() *term {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.term.Load()
}

// note tells the keeper of a refusal that it may be able to do something about.
func (s *stripe) note(v verdict) {
	if v == rollback && !s.rolledBack.Load() && s.rolledBack.CompareAndSwap(false, true) {
		s.g.rollbacks.Add(1)
	}
	if v != exhausted && v != closed {
		s.poke()
	}
}

// explain makes the error for a verdict other than issue, which was reached from
// state word old of term t and clock tick now.
func (s *stripe) explain(v verdict, t *term, old uint64, now int64) error {
	g := s.g
	switch {
	case v == wait:
		return ErrSequenceExhausted
	case v == exhausted:
		return ErrTimeExhausted
	case v == closed && g.closing.Load():
		return ErrClosed
	case v == notOpen:
		return &WindowNotOpenError{
			WorkerID: t.workerID, Opens: g.timeOf(g.rule.tick(t.start) + 1),
			Now: g.timeOf(now),
		}
	case v == rollback:
		return &ClockRollbackError{
			WorkerID:  t.workerID,
			Last:      g.timeOf(g.rule.tick(old)),
			Now:       g.timeOf(now),
			Tolerance: g.tolerance,
		}
	}
	// The window has ended, or the gate is closed because the lease was lost. In
	// both cases it is the keeper who knows why.
	return *s.refusal.Load()
}

// look asks the rule what it would answer now, without stamping anything.
func (s *stripe) look() attempt {
	t := s.term.Load()
	old := t.state.Load()
	now := s.g.freshTick() // after the state that it judges
	_, v := s.g.rule.step(old, t.start, t.seed, t.carried, now, t.notAfter.Load())
	return attempt{stripe: s, term: t, verdict: v, old: old, now: now}
}

// able tells why the stripe could not issue an ID now, not even after a short wait
// for the clock; nil: it could.
func (s *stripe) able() error {
	a := s.look()
	if a.verdict == issue || a.verdict == wait {
		return nil
	}
	return a.explain()
}
