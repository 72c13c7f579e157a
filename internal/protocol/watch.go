package protocol

import (
	"context"

	"github.com/unalike-id/unalike/coord"
)

// watchKey names one grant through its renewals.
func watchKey(g coord.Grant) coord.Grant {
	return coord.Grant{WorkerID: g.WorkerID, Token: g.Token, Generation: g.Generation}
}

// watched is a grant whose lease is watched.
type watched struct {
	gone   chan struct{} // closed as the hint
	cancel context.CancelFunc
}

// Lost implements [coord.Notifier]. One goroutine watches until the lease is gone, the
// session has ended, or the grant is released.
func (c *Coordinator) Lost(g coord.Grant) <-chan struct{} {
	key := watchKey(g)
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.watches[key]; w != nil {
		return w.gone
	}
	w := &watched{gone: make(chan struct{})}
	t := c.tenants[g.Token]
	v, _ := g.Handle.(*View)
	if t == nil || v == nil || !v.holds(g) {
		return w.gone // no hint will come
	}
	ctx, cancel := context.WithCancel(c.life.Context())
	w.cancel = cancel
	s := t.session
	c.watches[key] = w
	c.life.Spawn(func() {
		defer cancel()
		gone := s.Watch(ctx, v)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.watches[key] == w {
			delete(c.watches, key)
		}
		if gone {
			close(w.gone)
		}
	})
	return w.gone
}

// AwaitFree implements [coord.Waiter], with the session of the acquisition.
func (c *Coordinator) AwaitFree(ctx context.Context, req coord.Request) bool {
	c.mu.Lock()
	t := c.tenants[req.Token]
	if t == nil || t.session == nil {
		c.mu.Unlock()
		return false
	}
	w, ok := t.session.(FreeWatcher)
	c.mu.Unlock()
	if !ok {
		return false
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life.Context(), cancel)()
	return w.WatchFree(ctx, req.Workers)
}

// unwatch ends the watch of a grant.
func (c *Coordinator) unwatch(g coord.Grant) {
	key := watchKey(g)
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.watches[key]; w != nil {
		w.cancel()
		delete(c.watches, key)
	}
}
