package core

import (
	"context"
	"errors"
	"iter"
)

// Next returns the next ID. It waits for the clock where the sequence of this tick
// is spent, which is for one tick and the rollback tolerance at most as long as
// other callers leave some of each tick, and never for a coordinator. Errors, all
// of them returned at once: [ErrClockRollback], [ErrWindowEnded],
// [ErrWindowNotOpen], [ErrTimeExhausted], [ErrClosed]. All but the last two heal
// by themselves, so trying again later is right.
//
// IDs of one worker ID are strictly increasing: a call that begins after another
// has returned gets a greater ID, except after a step of the clock back by more than 1 s
// beyond the tolerance, when the generator goes on with another worker ID. It allocates
// nothing unless it waits.
func (g *Generator) Next() (ID, error) {
	if id, ok := g.fast(); ok {
		return id, nil
	}
	return g.slow(context.Background(), false)
}

// TryNext is Next without any wait: it returns [ErrSequenceExhausted] where Next
// would wait for the clock.
func (g *Generator) TryNext() (ID, error) {
	if id, ok := g.fast(); ok {
		return id, nil
	}
	a := g.grab(1)
	if a.verdict == issue {
		return g.id(a.term, a.word), nil
	}
	return 0, g.refuse(a)
}

// NextContext is Next with a context, and more patient: while the window has ended
// or is not open yet, it waits for the coordinator instead of returning an error, and after
// a step of the clock back by up to 1 s beyond the tolerance it waits for the clock.
// It returns ctx's error, together with the reason for the wait, when ctx ends.
// It returns [ErrTimeExhausted] and [ErrClosed] immediately, and [ErrClockRollback] after a
// larger step.
func (g *Generator) NextContext(ctx context.Context) (ID, error) {
	if err := g.begin(ctx); err != nil {
		return 0, err
	}
	if id, ok := g.fast(); ok {
		return id, nil
	}
	return g.slow(ctx, true)
}

// All returns a sequence of IDs without an end, each as from NextContext. An error
// is its last element. It does nothing between two elements.
func (g *Generator) All(ctx context.Context) iter.Seq2[ID, error] {
	return func(yield func(ID, error) bool) {
		for {
			id, err := g.NextContext(ctx)
			if !yield(id, err) || err != nil {
				return
			}
		}
	}
}

// fast is the whole of Next in the ordinary case: the tick that the clock is in has been
// entered and has a sequence number left, and nobody is in the way. It reads the clock once,
// loads the state, and tries one compare-and-swap.
func (g *Generator) fast() (ID, bool) {
	s := g.only
	if s == nil {
		if s = g.home(); s == nil {
			return 0, false // a zero Generator
		}
	}
	t := s.term.Load()
	now := g.scale.Tick(g.clock.UnixMicro())
	old := t.state.Load()
	if !g.rule.fast(old, now, t.notAfter.Load()) {
		return 0, false
	}
	if !t.state.CompareAndSwap(old, old+1) {
		return g.again(s, now)
	}
	return g.id(t, old+1), true
}

// again is fast for whoever has lost the race for a number of s: it takes the next one on the
// same reading of the clock, because the tick of whoever won is no older than the call. With
// several worker IDs it moves on to another one first.
func (g *Generator) again(s *stripe, now int64) (ID, bool) {
	for lost := 0; ; lost++ {
		if lost == 0 && s.next != s {
			s = g.moveOn(s)
		} else {
			backOff(lost)
		}
		t := s.term.Load()
		old := t.state.Load()
		if !g.rule.fast(old, now, t.notAfter.Load()) {
			return 0, false
		}
		if t.state.CompareAndSwap(old, old+1) {
			return g.id(t, old+1), true
		}
	}
}

// slow gets an ID or an error, waiting where that helps; the patient wait for the
// coordinator, too.
func (g *Generator) slow(ctx context.Context, patient bool) (ID, error) {
	a := g.grab(1)
	for a.verdict != issue {
		if err := g.waitFor(ctx, &a, patient); err != nil {
			return 0, err
		}
	}
	return g.id(a.term, a.word), nil
}

// waitFor waits once for whatever the failed attempt a lacks, and tries again. It
// returns an error if waiting does not help or ctx ends.
func (g *Generator) waitFor(ctx context.Context, a *attempt, patient bool) error {
	if !a.worthWaiting(patient) {
		return g.refuse(*a)
	}
	// From here on no change is missed: the attempt is made again after the signal
	// was taken, and what changes later is signalled.
	changed := g.changed.wait()
	*a = g.grab(a.asked)
	switch {
	case a.verdict == issue || !a.worthWaiting(patient):
		return nil // the caller sees what it is
	case a.verdict == wait:
		g.awaitEdge(ctx, changed, a)
	default:
		a.stripe.note(a.verdict)
		// Its only error is ctx's, which is dealt with below.
		_ = g.await(ctx, a.stripe, changed)
	}
	if err := ctx.Err(); err != nil {
		g.count(*a)
		return errors.Join(err, a.explain())
	}
	*a = g.grab(a.asked)
	return nil
}
