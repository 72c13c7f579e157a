package local

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/keeper"
	"github.com/unalike-id/unalike/internal/lifetime"
)

// heldGrant is a grant that a keeper of this process has. The coordinator's mu guards it.
type heldGrant struct {
	entry  *entry
	req    coord.Request
	local  coord.Grant // as the keeper has it; its token and generation stay
	remote coord.Grant // the last piece, as the back end has it
	stored int64       // the mark that is on the disk

	window, horizon int64     // in ticks
	asked           int64     // until when a window was asked for at the most; 0: not since the grant
	now             int64     // the generator's clock when it asked last
	at              time.Time // of that

	life     context.Context // ends with it
	stop     context.CancelFunc
	every    time.Duration   // between renewals in the back end
	deadline keeper.Deadline // of those
	due      time.Time       // when the next one is to be made
	renewal  chan struct{}   // closed when the one under way ends; nil: none is
	offline  bool            // the back end does not know yet that this process has the grant
	// why the last renewal failed, or that it has no reply yet; nil: it did not
	failing   error
	notice    <-chan struct{} // closed when the back end takes the lease to be lost; may be nil
	releasing bool            // it is given back: nothing but Release may follow
	since     uint64          // the first attempt to store that has the new token, or leaves it out
}

// newHeldGrant returns what the keeper that has asked is to have of an entry. Nothing of it is
// granted yet.
func (c *coordinator) newHeldGrant(e *entry, req coord.Request, entered time.Time) *heldGrant {
	horizon := max(req.Until-req.Now, 1)
	every := coord.Describe(c.remote).Rules.Set.RenewEvery
	if ahead, _ := lifetime.Ahead(req, 0); every == 0 {
		every = max(min(req.TTL, ahead)/3, time.Millisecond)
	}
	h := &heldGrant{
		entry: e, req: req, horizon: horizon, now: req.Now, at: entered, every: every,
		deadline: keeper.RenewDeadline(every, req.TTL), remote: e.grant(), stored: e.Mark,
		since: c.disk.begun + 1,
		local: coord.Grant{
			WorkerID: e.Worker, Generation: e.Pair.Generation, Token: req.Token,
			NotBefore: e.Mark, NotAfter: e.Mark,
		},
		window: min(horizon, max(req.Scale.TicksDown(c.window.Microseconds()), 3)+req.Ahead),
	}
	h.life, h.stop = context.WithCancel(c.life.Context())
	h.renewed()
	e.taken = true
	c.held[req.Token] = h
	return h
}

// renewed says that the next renewal in the back end is due after the interval, less up to a fifth.
func (h *heldGrant) renewed() { h.due = lifetime.Now().Add(h.every - rand.N(h.every/5+1)) }

// tick is the generator's clock, as far as is known.
func (h *heldGrant) tick() int64 {
	return h.now + h.req.Scale.TicksDown(lifetime.Since(h.at).Microseconds())
}

// until is the end of the window to ask the back end for: no more than the keeper has asked for.
func (h *heldGrant) until() int64 {
	end := min(h.tick()+h.horizon, h.req.LastTick)
	if h.asked > 0 {
		return min(end, h.asked)
	}
	return end
}

// raise moves the mark up to a tick, within the piece that it lies in.
func (h *heldGrant) raise(to int64) {
	h.entry.Mark = max(h.entry.Mark, min(to, h.entry.Current.To))
}

// enter goes on in the next piece, if that in use is spent, and the keeper has been given something
// of it: it would take what lies between two earlier ones for its own.
func (h *heldGrant) enter() {
	if h.local.NotAfter >= h.entry.Current.From { //mutant:local-piece-given
		h.entry.enter()
	}
}

// advance notes that the generator asks for a window until a tick, which tells its clock, and moves
// the mark as far as the file's window goes: into the next piece, if that in use is spent. It
// returns how far the mark has to be stored to last until the next renewal has been stored as well,
// which takes some time.
func (h *heldGrant) advance(until int64, takes time.Duration) (enough int64) {
	if now := until - h.horizon; now != h.now && until < h.req.LastTick {
		h.now, h.at = now, lifetime.Now()
	}
	e, tick := h.entry, h.tick()
	want := min(until, tick+h.window)
	h.raise(want)
	if e.Mark < want && (e.Mark <= h.stored || e.Mark < tick) {
		h.enter()
		h.raise(max(want, e.Current.From+h.window))
	}
	if h.window < h.horizon {
		return min(want, tick+h.window*2/3+h.req.Scale.TicksDown(takes.Microseconds()))
	}
	return want
}

// give is the grant as the keeper gets it, whose last one was g: what is stored of the mark, and of
// the piece in which it lies, but no more than was asked for.
func (c *coordinator) give(h *heldGrant, g coord.Grant) coord.Grant {
	end, from := h.stored, h.entry.Current.From
	if from < h.asked { // else it opens later than that
		end = min(end, h.asked)
	}
	h.local.NotBefore, h.local.NotAfter = g.NotBefore, max(end, g.NotAfter)
	if g.NotAfter < from && from <= h.local.NotAfter {
		h.local.NotBefore = from // nothing of the gap is anybody's
	}
	c.publish(h)
	return h.local
}

// find returns what is held as g; nil: nothing is.
func (c *coordinator) find(g coord.Grant) *heldGrant {
	if h := c.held[g.Token]; h != nil && h.local.WorkerID == g.WorkerID &&
		h.local.Generation == g.Generation {
		return h
	}
	return nil
}

// notHeld is the error of a grant that is not held, or not any more.
func notHeld(g coord.Grant) error {
	return fmt.Errorf("%w: %v is not held with this state file: it was lost, given back or parked",
		coord.ErrLeaseLost, g)
}

// end ends what is held. Its entry is free for the next holder of this process.
func (c *coordinator) end(h *heldGrant) {
	h.stop()
	h.entry.taken = false
	if c.find(h.local) == h {
		delete(c.held, h.local.Token)
		c.outages.Delete(h.local.Token)
	}
}

// abandon ends what is held, of which nothing was used.
func (c *coordinator) abandon(h *heldGrant) {
	c.end(h)
	h.entry.Mark = max(h.local.NotBefore, h.entry.Current.From)
}

// publish has Outage tell what is known of what is held.
func (c *coordinator) publish(h *heldGrant) {
	if c.find(h.local) == h {
		c.outages.Store(h.local.Token, coord.Outage{
			NotAfter: h.entry.Current.To, Renewed: time.UnixMicro(h.entry.Renewed), Failing: h.failing,
		})
	}
}

// Outage implements [coord.Outlasting].
func (c *coordinator) Outage(g coord.Grant) (o coord.Outage, ok bool) {
	v, ok := c.outages.Load(g.Token)
	o, _ = v.(coord.Outage)
	return o, ok
}
