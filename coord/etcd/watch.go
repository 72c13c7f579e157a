package etcd

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/coord"
)

// rewatch is the pause before a watch that failed is tried again. It is a hint that
// is at stake, so there is no hurry.
const rewatch = 500 * time.Millisecond

// hold names one grant through its renewals.
type hold struct {
	worker     int
	token      string
	generation uint64
}

// watcher watches one owner key.
type watcher struct {
	gone   chan struct{} // closed as the hint
	cancel context.CancelFunc
}

// Lost implements [coord.Notifier]: the channel is closed when the owner key of g is
// deleted. One goroutine watches until then, or until Release or Close.
func (c *Coordinator) Lost(g coord.Grant) <-chan struct{} {
	key := hold{g.WorkerID, g.Token, g.Generation}
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.watchers[key]; w != nil {
		return w.gone
	}
	w := &watcher{gone: make(chan struct{})}
	v := viewOf(g)
	if v == nil {
		return w.gone // no hint will come
	}
	ctx, cancel := context.WithCancel(c.life.Context())
	w.cancel = cancel
	if c.life.Spawn(func() {
		defer cancel()
		if !c.watch(ctx, v) {
			return
		}
		c.mu.Lock()
		if c.watchers[key] == w {
			delete(c.watchers, key)
		}
		c.mu.Unlock()
		close(w.gone)
	}) {
		c.watchers[key] = w
	} else {
		cancel()
	}
	return w.gone
}

// unwatch ends the watcher of a grant.
func (c *Coordinator) unwatch(g coord.Grant) {
	key := hold{g.WorkerID, g.Token, g.Generation}
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.watchers[key]; w != nil {
		w.cancel()
		delete(c.watchers, key)
	}
}

// watch returns true when the owner key of v is gone, and false when ctx ends.
func (c *Coordinator) watch(ctx context.Context, v *view) bool {
	pause := time.NewTicker(rewatch)
	defer pause.Stop()
	for {
		if c.watchOnce(ctx, v) {
			return ctx.Err() == nil
		}
		select {
		case <-ctx.Done():
			return false
		case <-pause.C:
		}
	}
}

// watchOnce looks at the owner key and then watches it from there. It returns true
// if the key is gone, and false if it could not go on watching: the member has no
// leader, or the revision was compacted away.
func (c *Coordinator) watchOnce(ctx context.Context, v *view) bool {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	key := c.keys.owner(v.slot.Worker)
	now, err := c.fetch(ctx, clientv3.OpGet(key))
	if err != nil {
		return false
	}
	if kv := one(now, 0); kv == nil || kv.CreateRevision != v.ownRev {
		return true
	}
	for resp := range c.client.Watch(ctx, key, clientv3.WithRev(now.Header.GetRevision()+1), clientv3.WithFilterPut()) {
		if resp.Err() != nil {
			return false
		}
		if len(resp.Events) > 0 {
			return true
		}
	}
	return false
}
