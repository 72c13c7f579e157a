package local

import (
	"context"
	"errors"

	"github.com/unalike-id/unalike/coord"
)

// Release implements [coord.Coordinator]. Where the back end has answered last, the grant is
// taken out of the file, and is dead from then on, before the first release of it is sent.
// Where it has not, the grant is parked: the file keeps it for the next start, and nothing is
// sent.
func (c *Coordinator) Release(ctx context.Context, g coord.Grant, last int64) error {
	if err := c.begin(ctx, "release"); err != nil {
		c.letGo(g)
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	h, err := c.find(g)
	switch {
	case err != nil:
		return err
	case h == nil:
		delete(c.bares, nameOf(g))
		token := g.Token
		g = c.aliased(g)
		c.mu.Unlock()
		err := c.inner.Release(ctx, g, last)
		c.mu.Lock()
		if err == nil || errors.Is(err, coord.ErrLeaseLost) {
			delete(c.aliases, token)
		}
		return err
	}
	last = max(last, g.NotBefore)
	if !h.releasing && (h.alone || h.failing != nil) && last <= h.entry.end() {
		return c.park(ctx, h, last)
	}
	if !h.releasing {
		h.releasing = true
		c.drop(h.entry)
		h.without = c.saver.wanted + 1
	}
	if err := c.storeOnce(ctx, h.without); err != nil {
		return err // it is not given back then: it becomes free when its lease ends
	}
	return c.giveBack(ctx, h, g, last)
}

// letGo has the next holder in this process go on with a grant whose release was called off before it began. Nothing of it was
// sent, and the file has it as after a crash.
func (c *Coordinator) letGo(g coord.Grant) {
	if c == nil || c.inner == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if h, err := c.find(g); err == nil && h != nil && !h.releasing {
		c.handOn(h, lost(h.outer, "its release was called off"))
	}
}

// giveBack releases a grant that is not in the file any more.
func (c *Coordinator) giveBack(ctx context.Context, h *hold, g coord.Grant, last int64) error {
	back := h.inner
	back.NotAfter = max(back.NotAfter, g.NotAfter)
	err := c.releaseAll(ctx, back, h.entry.Pairs, last)
	if err == nil || errors.Is(err, coord.ErrLeaseLost) {
		c.forget(h, lost(g, "it was given back"))
	}
	return err
}

// releaseAll sends the releases of a grant, of which the back end may have any of the pairs. A
// takeover that is still on its way comes too late then. The caller holds mu, which is given up
// meanwhile.
func (c *Coordinator) releaseAll(ctx context.Context, back coord.Grant, pairs []pair, last int64) (err error) {
	handle, of := back.Handle, pair{back.Generation, back.Token}
	for _, p := range pairs {
		back.Generation, back.Token, back.Handle = p.Generation, p.Token, nil
		if p == of {
			back.Handle = handle
		}
		c.mu.Unlock()
		err = c.inner.Release(ctx, back, last)
		c.mu.Lock()
		if !errors.Is(err, coord.ErrLeaseLost) {
			break
		}
	}
	return err
}

// surrender gives back a grant in the file that nobody has in this process. It is out of the file
// before, as one of Release is. The error tells that it is not gone on with. The caller holds mu,
// which is given up meanwhile.
func (c *Coordinator) surrender(ctx context.Context, e *entry, ns coord.Namespace, now int64) error {
	if err := c.sameNamespace(e, ns, now); err != nil {
		return err
	}
	c.drop(e)
	if err := c.store(ctx); err != nil {
		return err
	}
	back := e.grant(e.Pairs[0])
	err := c.releaseAll(ctx, back, e.Pairs, max(e.Mark, back.NotBefore))
	return errors.Join(lost(back, "it was given back, because its lease has another TTL than is set now"), err)
}

// park leaves a grant in the file, for the next start, which goes on above tick last.
func (c *Coordinator) park(ctx context.Context, h *hold, last int64) error {
	h.served = false
	before := h.entry.Mark
	h.entry.Mark, h.entry.Parked = last, true
	c.handOn(h, lost(h.outer, "it was parked"))
	if err := c.store(ctx); err != nil {
		h.entry.Mark = max(h.entry.Mark, before) // which is what the file has, or less; and somebody else may have it by now
		return err
	}
	c.log.Warn("the back end does not answer, so the worker ID is not given back but kept in the state file: the next start goes on with it, or it becomes free when its lease ends",
		"worker_id", h.entry.Worker)
	return nil
}
