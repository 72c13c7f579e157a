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
// has returned gets a greater ID, except when a large step of the clock backward
// was healed by taking another worker ID. It allocates nothing.
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
// or is not open yet, it waits for the coordinator instead of returning an error.
// It returns ctx's error, together with the reason for the wait, when ctx ends;
// [ErrClockRollback], [ErrTimeExhausted] and [ErrClosed] at once.
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

// fast is the whole of Next in the ordinary case: a clock that allows the next ID,
// and nobody in the way. It loads the state, reads the clock once, and tries one
// compare-and-swap.
func (g *Generator) fast() (ID, bool) {
	if len(g.stripes) != 1 {
		return g.fastStripe()
	}
	// This is stamp once more, because a call would cost a tenth of the ID.
	t := g.stripes[0].term.Load()
	old := t.state.Load()
	next, ok := g.rule.fast(old, g.tickNow(), t.notAfter.Load())
	if !ok {
		return 0, false
	}
	if !t.state.CompareAndSwap(old, next) {
		backOff(0)
		return 0, false
	}
	if next>>g.rule.shift != old>>g.rule.shift {
		g.leave(t, old)
	}
	return g.id(t, next), true
}

// fastStripe is fast with several worker IDs. Whoever loses a race on a stripe, or
// finds its tick spent, moves on to the next one.
func (g *Generator) fastStripe() (ID, bool) {
	if len(g.stripes) == 0 { // a zero Generator
		return 0, false
	}
	h := g.hint()
	at := int(h.at.Load())
	for range g.stripes {
		id, ok, lost := g.stamp(g.stripes[at].term.Load())
		if ok {
			h.move(at)
			return id, true
		}
		if !lost && g.rule.spread != 0 {
			break // a new tick, which only the long way enters: not one that others have entered
		}
		at = (at + 1) % len(g.stripes)
	}
	return 0, false
}

// stamp tries to take the next ID of t with one compare-and-swap; lost says that somebody
// else was faster.
func (g *Generator) stamp(t *term) (id ID, ok, lost bool) {
	old := t.state.Load()
	next, ok := g.rule.fast(old, g.tickNow(), t.notAfter.Load())
	if !ok {
		return 0, false, false
	}
	if !t.state.CompareAndSwap(old, next) {
		return 0, false, true
	}
	if next>>g.rule.shift != old>>g.rule.shift {
		g.leave(t, old)
	}
	return g.id(t, next), true, false
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
