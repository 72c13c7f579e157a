package local

import (
	"context"

	"github.com/unalike-id/unalike/coord"
)

// Lost implements [coord.Notifier]. The channel is closed as well when a renewal behind the
// keeper's back has found that the lease is lost. It is nil where the back end gives no hints.
func (c *Coordinator) Lost(g coord.Grant) <-chan struct{} {
	if c == nil || c.inner == nil {
		return nil
	}
	n, ok := c.inner.(coord.Notifier)
	if !ok {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	h, err := c.find(g)
	switch {
	case err != nil:
		gone := make(chan struct{})
		close(gone)
		return gone
	case h == nil:
		return n.Lost(c.aliased(g))
	}
	select {
	case <-h.hint: // it was given; there may be another one
		h.hint = make(chan struct{})
	default:
	}
	c.hinted(h)
	return h.hint
}

// hinted waits for the back end's hint, where it gives any. The caller holds mu.
func (c *Coordinator) hinted(h *hold) {
	n, ok := c.inner.(coord.Notifier)
	if !ok || h.alone || h.unhint != nil || !h.served {
		return
	}
	lost := n.Lost(h.inner)
	if lost == nil {
		return
	}
	ctx, cancel := context.WithCancel(c.life.Context())
	h.unhint = cancel
	if !c.life.Spawn(func() {
		defer cancel()
		select {
		case <-ctx.Done():
			return
		case <-lost:
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		h.unhint = nil
		h.due = h.at // the next renewal asks the back end
		h.signal()
	}) {
		cancel()
	}
}
