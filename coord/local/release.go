package local

import (
	"context"
	"errors"
	"slices"

	"github.com/unalike-id/unalike/coord"
)

// Release implements [coord.Coordinator]. Where the back end has answered last, the grant is
// taken out of the file, and is dead from then on, before the first release of it is sent; if that
// cannot be written, nothing is sent. Where it has not, the grant is parked: the file keeps it for
// the next start, and nothing is sent.
func (c *coordinator) Release(ctx context.Context, g coord.Grant, last int64) error {
	err := c.begin(ctx, "release")
	c.mu.Lock()
	defer c.unlock()
	h := c.find(g)
	switch {
	case err != nil && h != nil && !h.releasing:
		//mutant:local-called-off
		c.end(h) // nothing of it was sent: the next holder of this process goes on with it
		return err
	case err != nil:
		return err
	case h == nil:
		return notHeld(g)
	}
	last = max(last, g.NotBefore)
	if !h.releasing && (h.offline || h.failing != nil) {
		return c.park(ctx, h, last)
	}
	if !h.releasing {
		h.releasing, h.since = true, c.disk.begun+1
		c.entries = slices.DeleteFunc(c.entries, func(e *entry) bool { return e == h.entry })
	}
	if err := c.storeOnce(ctx, h.since); err != nil {
		return err // it becomes free when its lease ends
	}
	back := h.remote
	back.NotAfter = max(back.NotAfter, g.NotAfter)
	c.unlocked(func() { err = c.remote.Release(ctx, back, last) })
	if err == nil || errors.Is(err, coord.ErrLeaseLost) {
		c.end(h)
	}
	return err
}

// park leaves a grant in the file, for the next start, which goes on above tick last.
func (c *coordinator) park(ctx context.Context, h *heldGrant, last int64) error {
	e, before := h.entry, h.entry.Mark
	e.Mark = max(last, e.Current.From) // what lies before the piece in use is nobody's
	c.end(h)
	if err := c.store(ctx, nil); err != nil {
		e.Mark = max(e.Mark, before) // which the file has, or less; and somebody else may have it by now
		return err
	}
	c.warn("the back end does not answer, so the worker ID is not given back but kept in the state "+
		"file: the next start goes on with it, or it becomes free when its lease ends",
		"worker_id", e.Worker)
	return nil
}

// Lost implements [coord.Notifier]. The channel is nil where the back end gives no hints, and until
// it knows that this process has the grant.
func (c *coordinator) Lost(g coord.Grant) <-chan struct{} {
	c.mu.Lock()
	defer c.unlock()
	h := c.find(g)
	n, ok := c.remote.(coord.Notifier)
	if !ok || h == nil || h.offline {
		return nil
	}
	h.notice = n.Lost(h.remote)
	return h.notice
}
