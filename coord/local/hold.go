package local

import (
	"context"
	"fmt"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
)

// hold is a grant that a keeper of this process has. The coordinator's mu guards it.
type hold struct {
	outer coord.Grant // as the keeper has it last; its token and generation stay
	entry *entry
	req   coord.Request
	inner coord.Grant // the last piece, as the back end has it
	alone bool        // the back end has not answered for it yet in this process
	start int64       // the mark when the hold began
	safe  int64       // the mark that is on the disk

	window, horizon int64     // in ticks
	now             int64     // the generator's clock when it asked last
	at              time.Time // of that
	served          bool      // the keeper has it

	calls                        // to the back end
	hint      chan struct{}      // closed when the lease seems to be gone
	unhint    context.CancelFunc // ends whoever waits for the back end's hint; may be nil
	releasing bool               // it is given back: nothing but Release may follow
	without   uint64             // the first record that does not have it any more
}

// newHold returns the hold of an entry.
func (c *Coordinator) newHold(e *entry, ask asking) *hold {
	req := ask.Request
	horizon := max(req.Until-req.Now, 1)
	h := &hold{
		entry: e, req: req, horizon: horizon, now: req.Now, at: ask.entered,
		window: min(horizon, max(req.Scale.TicksDown(c.window.Microseconds()), 3)+req.Ahead),
		hint:   make(chan struct{}),
	}
	h.calls = newCalls(coord.Describe(c.inner).Rules.Set, req, time.Duration(e.TTL)*time.Microsecond)
	e.taken = true
	return h
}

// tick is the generator's clock, as far as is known.
func (h *hold) tick() int64 {
	return h.now + h.req.Scale.TicksDown(lifetime.Since(h.at).Microseconds())
}

// asked notes what the generator's clock was when it asked for a window until a tick.
// In the last horizon of a layout it is cut, and says only that the clock is there: then the
// system's clock tells how far.
func (c *Coordinator) asked(h *hold, until int64) {
	now := until - h.horizon
	if until >= h.req.LastTick {
		now = max(now, h.tick(), min(h.req.Scale.Tick(c.sys.now().UnixMicro()), h.req.LastTick))
	}
	if now != h.now { // else it asks once more for what it has asked for before, perhaps much later
		h.now, h.at = now, lifetime.Now()
	}
}

// raise moves the mark up to a tick, within the piece that it lies in.
func (h *hold) raise(to int64) {
	h.entry.Mark = max(h.entry.Mark, min(to, h.piece().To))
}

// piece is the one in which the mark lies.
func (h *hold) piece() piece {
	for _, p := range h.entry.Pieces {
		if h.entry.Mark <= p.To {
			return p
		}
	}
	return h.entry.Pieces[len(h.entry.Pieces)-1]
}

// step moves the mark into the next piece, if that in use is spent and there is one.
func (h *hold) step(want int64) {
	p := h.piece()
	if h.entry.Mark < p.To || want <= p.To {
		return
	}
	for _, q := range h.entry.Pieces {
		if q.From >= p.To && q.To > q.From {
			h.entry.Mark = min(q.To, max(want, q.From+h.window))
			return
		}
	}
}

// given is the grant as the keeper gets it, whose last one was g: what is stored of the mark,
// and of the piece in which it lies.
func (h *hold) given(g coord.Grant) coord.Grant {
	out := h.outer
	out.NotBefore, out.NotAfter = g.NotBefore, max(h.safe, g.NotAfter)
	for _, p := range h.entry.Pieces {
		if g.NotAfter < p.From && p.From <= h.safe {
			out.NotBefore = p.From // nothing of the gap is anybody's
		}
	}
	h.outer = out
	return out
}

// signal tells whoever waits for a hint that the lease is gone.
func (h *hold) signal() {
	select {
	case <-h.hint:
	default:
		close(h.hint)
	}
}

// lose ends a hold. The caller holds mu.
func (c *Coordinator) lose(h *hold, why error) {
	c.forget(h, why)
	c.dropLost(h.entry)
	h.signal()
}

// handOn ends a hold with whose entry somebody else in this process may go on. The caller holds mu.
func (c *Coordinator) handOn(h *hold, why error) {
	h.entry.taken = false
	c.forget(h, why)
}

// forget ends a hold, and leaves what is in the file. The caller holds mu.
func (c *Coordinator) forget(h *hold, why error) {
	if c.holds[h.outer.Token] == h {
		delete(c.holds, h.outer.Token)
	}
	c.fates[nameOf(h.outer)] = why
	if h.unhint != nil {
		h.unhint()
	}
}

// name tells one grant from another.
type name struct {
	worker int
	pair
}

func nameOf(g coord.Grant) name { return name{g.WorkerID, pair{g.Generation, g.Token}} }

// lost is the error of a grant that is not held any more.
func lost(g coord.Grant, format string, args ...any) error {
	return fmt.Errorf("%w: %v: %w", coord.ErrLeaseLost, g, fmt.Errorf(format, args...))
}

// find returns the hold of a grant; nil and no error if it is not this coordinator's. The
// caller holds mu.
func (c *Coordinator) find(g coord.Grant) (*hold, error) {
	if h := c.holds[g.Token]; h != nil && nameOf(h.outer) == nameOf(g) {
		return h, nil
	}
	return nil, c.fates[nameOf(g)]
}

// still returns why a hold is over; nil: it is not. The caller holds mu.
func (c *Coordinator) still(h *hold) error {
	switch other, err := c.find(h.outer); {
	case err != nil:
		return err
	case other != h:
		return lost(h.outer, "it was given back")
	}
	return nil
}
