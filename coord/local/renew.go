package local

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
)

// Renew implements [coord.Coordinator]. It extends the mark in the file, inside the window
// that the back end has granted, and has that renewed behind it when it is time. It waits for
// the back end only if there is nothing left to give.
func (c *Coordinator) Renew(ctx context.Context, g coord.Grant, until int64) (coord.Grant, error) {
	if err := c.begin(ctx, "renew"); err != nil {
		return coord.Grant{}, err
	}
	c.mu.Lock()
	h, err := c.find(g)
	if err != nil {
		c.mu.Unlock()
		return coord.Grant{}, err
	}
	if h != nil && h.releasing {
		c.mu.Unlock()
		return coord.Grant{}, lost(g, "it is being given back")
	}
	if h == nil || g.NotAfter > h.safe {
		// Not one of this file: somebody else's, or leased while the disk did not answer.
		excess, token := c.bares[nameOf(g)], g.Token
		g = c.aliased(g)
		c.mu.Unlock()
		r, err := c.inner.Renew(ctx, g, until-excess)
		if err == nil {
			r.Token = token
		}
		return r, err
	}
	defer c.mu.Unlock()
	c.asked(h, until)
	if lifetime.Now().After(h.due) {
		c.extend(h, until)
	}
	r, err := c.grow(ctx, h, g, until)
	// The keeper goes on inside the window that it has. When that is over, another worker ID
	// serves, if the back end can be asked for one; otherwise the disk is waited for.
	if c.still(h) == nil && c.broken(err, h.patience()) && h.tick() > h.safe && c.answered(h) {
		return coord.Grant{}, c.abandon(h, g, err)
	}
	return r, err
}

// answered reports whether the back end has answered last, as far as the disk let it be asked. The caller holds mu.
func (c *Coordinator) answered(h *hold) bool {
	return h.failing == nil && !h.alone || c.broken(h.failing, h.patience())
}

// grow returns g with a window that is extended. The caller holds mu.
func (c *Coordinator) grow(ctx context.Context, h *hold, g coord.Grant, until int64) (coord.Grant, error) {
	want := min(until, h.tick()+h.window)
	need := want
	if h.window < h.horizon {
		// What is returned must last until the next renewal has been written as well.
		need = min(want, h.tick()+h.window*2/3)
	}
	if h.safe >= need {
		return h.given(g), nil // a record that was written a moment ago, for another grant perhaps
	}
	for asked := 0; ; asked++ {
		h.raise(want)
		if h.entry.Mark <= h.safe || h.over() {
			h.step(want)
		}
		if h.entry.Mark > h.safe && (!h.over() || asked == tries) {
			return c.keep(ctx, h, g)
		}
		if h.safe >= until && h.safe >= g.NotAfter {
			return h.given(g), nil
		}
		if asked == tries {
			if h.failing != nil {
				return coord.Grant{}, fmt.Errorf("the window in the state file is used up: %w", h.failing)
			}
			return h.given(g), nil
		}
		if h.failing != nil && asked > 0 {
			return coord.Grant{}, h.failing
		}
		if err := c.await(ctx, h, g, until); err != nil {
			return coord.Grant{}, err
		}
		want = min(until, h.tick()+h.window)
	}
}

// over reports whether the mark is in the past, as it is when the machine has slept: what lies below it is no answer.
func (h *hold) over() bool { return h.entry.Mark < h.tick() }

// tries is how often a renewal asks the back end when it has nothing to give: once for what
// somebody else asked for, and once for itself.
const tries = 2

// keep stores the mark of a hold, and returns g with what is stored then.
func (c *Coordinator) keep(ctx context.Context, h *hold, g coord.Grant) (coord.Grant, error) {
	// On a slow disk what was stored meanwhile is more than the keeper has, and it has to have that in time.
	more, patience := func() bool { return h.window < h.horizon && h.safe > max(g.NotAfter, h.tick()) }, h.patience()
	if more() {
		patience = min(patience, h.lasts(g.NotAfter-h.tick())/2)
	}
	err := c.storeUnless(ctx, patience, func() bool { return c.saver.took > h.patience()/4 && more() })
	if gone := c.still(h); gone != nil {
		return coord.Grant{}, gone
	}
	switch {
	case errors.Is(err, coord.ErrClosed):
		return coord.Grant{}, err
	case err == nil, more():
		return h.given(g), nil
	}
	return coord.Grant{}, err
}

// abandon goes on without a hold whose mark cannot be stored, and returns what the keeper is told, for
// which another worker ID serves from then on. The caller holds mu.
func (c *Coordinator) abandon(h *hold, g coord.Grant, disk error) error {
	why := lost(g, "its window could not be stored: %w", disk)
	c.disk, c.since = disk, c.saver.wanted
	h.entry.abandoned = true
	c.forget(h, why)
	h.signal()
	c.log.Error("the state file cannot be written, going on without it and with another worker ID; its worker ID is used again when the process is started again, or if there is no other and the file can be written again",
		"state_file", c.path, "worker_id", g.WorkerID, "error", disk)
	return why
}

// broken reports whether the disk is to blame for an error of store, and not a caller who waits no longer: it has failed, or
// what is being written takes longer than patience. The caller holds mu.
func (c *Coordinator) broken(err error, patience time.Duration) bool {
	_, failed := errors.AsType[*diskError](err)
	return failed || errors.Is(err, errUnwritten) && c.saver.busy && lifetime.Since(c.saver.began) >= patience
}

// patience is how long one record may take until the disk is taken to hang: a quarter of a window, so that the keeper is
// told before it takes the coordinator for one that does not answer, and long enough for any disk.
func (h *hold) patience() time.Duration { return max(h.lasts(h.window)/4, leastWait) }

// lasts is how long some ticks last.
func (h *hold) lasts(ticks int64) time.Duration {
	return time.Duration(max(ticks, 0)*h.req.Scale.Unit) * time.Microsecond
}

// await waits for a renewal in the back end that asks for a tick. The caller holds mu, which
// is given up meanwhile.
func (c *Coordinator) await(ctx context.Context, h *hold, g coord.Grant, until int64) error {
	for mine := false; ; {
		if h.ended == nil {
			mine = true
			if !c.extendFrom(h, min(h.inner.NotAfter, max(g.NotAfter, h.inner.NotBefore)), until) {
				return coord.ErrClosed
			}
		}
		ended := h.ended
		c.mu.Unlock()
		var err error
		select {
		case <-ended:
		case <-ctx.Done():
			err = fmt.Errorf("renew worker ID %d: %w", g.WorkerID, context.Cause(ctx))
		}
		c.mu.Lock()
		switch {
		case err != nil && h.failing != nil:
			return fmt.Errorf("%w: %w", err, h.failing)
		case err != nil:
			return err
		}
		if gone := c.still(h); gone != nil {
			return gone
		}
		// A call that took longer than it was given is made again, with more time, while the caller waits.
		if h.failing == nil || mine && !h.late {
			return h.failing
		}
	}
}

// extend begins a renewal in the back end, if none is under way. The caller holds mu.
func (c *Coordinator) extend(h *hold, until int64) {
	if h.ended == nil {
		c.extendFrom(h, h.inner.NotAfter, until)
	}
}

// extendFrom is extend for a holder that may know less of its window than was granted. It
// returns false after Close.
func (c *Coordinator) extendFrom(h *hold, end, until int64) bool {
	ended := make(chan struct{})
	base := h.inner
	base.NotAfter = end
	wait, began, over, now := h.wait, lifetime.Now(), h.alone, h.tick()
	if over {
		wait *= 2 // for two answers, one after the other
	}
	ok := c.life.Spawn(func() {
		defer close(ended)
		ctx, cancel := context.WithTimeout(c.life.Context(), wait)
		defer cancel()
		r, err := base, error(nil)
		if over {
			base, r, err = c.goOverLater(ctx, h, now, until)
		} else {
			r, err = c.inner.Renew(ctx, base, until)
		}
		late := errors.Is(ctx.Err(), context.DeadlineExceeded) || over && errors.Is(err, context.DeadlineExceeded)
		c.mu.Lock()
		defer c.mu.Unlock()
		h.ended = nil
		h.done(began, err, late)
		switch {
		case c.still(h) != nil:
		case errors.Is(err, coord.ErrLeaseLost):
			c.log.Warn("the back end says that the worker ID is not held any more", "worker_id", h.entry.Worker, "error", err)
			c.lose(h, err)
		case err == nil:
			if h.entry.Nonce == "" {
				c.life.Spawn(func() { c.learn(c.life.Context(), h.ttl) })
			}
			if over {
				c.log.Warn("the back end answers again, and has extended the window that was gone on with", "worker_id", r.WorkerID)
			}
			c.extended(h, base, r)
			h.entry.Renewed = c.sys.now().UnixMicro()
			if h.alone = false; h.failing == nil {
				c.hinted(h)
			}
		}
	})
	if ok {
		h.ended = ended
	}
	return ok
}

// goOverLater is goOver for a grant that was gone on with while the back end was away.
func (c *Coordinator) goOverLater(ctx context.Context, h *hold, now, until int64) (base, r coord.Grant, err error) {
	asking, cancel := half(ctx, h.req.TTL) // a back end that says nothing is asked again as soon as with a renewal
	ns, err := c.inner.Inspect(asking)
	if err != nil && asking.Err() != nil && !errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: %w", asking.Err(), err)
	}
	if cancel(); err != nil {
		return base, r, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.still(h); err != nil {
		return base, r, err
	}
	if err := c.allowed(h.entry, ns, h.req, now); err != nil {
		return base, r, err
	}
	if opensLate(h.start, now, h.req, c.window) {
		// It was better than nothing. Now there may be a worker ID whose window opens in time.
		c.handOn(h, lost(h.outer, "its window opens late, and the back end answers again"))
		h.signal()
		return base, r, c.still(h)
	}
	return c.goOver(ctx, h.entry, ns, until, false)
}

// extended takes over what the back end has made of base. The caller holds mu.
func (c *Coordinator) extended(h *hold, base, r coord.Grant) {
	e := h.entry
	last := &e.Pieces[len(e.Pieces)-1]
	switch {
	case r.NotBefore <= last.To && r.NotBefore == base.NotBefore:
		last.To = max(last.To, r.NotAfter)
	case r.NotBefore < base.NotAfter:
		h.failing = fmt.Errorf("%w renewal: the driver returned %v for %v", coord.ErrInvalid, r, base)
		return
	case len(e.Pieces) >= maxPieces:
		// Nothing is merged: what lies between is nobody's. When the first of them are over,
		// there is room again.
		h.failing = fmt.Errorf("the window has %d pieces, because the floor was raised as often: no more are kept", len(e.Pieces))
		h.inner.Generation, h.inner.Token = r.Generation, r.Token // which it has all the same, if it was resumed
		return
	default:
		last.To = min(last.To, max(base.NotAfter, last.From))
		if e.Mark > last.To {
			e.Mark = max(e.Mark, r.NotBefore)
		}
		e.Pieces = append(e.Pieces, piece{r.NotBefore, r.NotAfter})
	}
	h.inner = r
}
