package etcd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
)

// Coordinator leases worker IDs of one namespace in an etcd cluster. It is safe for
// concurrent use, and one serves any number of generators. Make it with [New], or
// with coord.Open.
type Coordinator struct {
	client    *clientv3.Client
	owned     bool // the client was made here, and is closed here
	namespace string
	keys      keyspace
	opts      Options
	log       *slog.Logger
	memory    *memory
	doubts    doubts
	attempts  attempts
	pace      pace
	unwell    atomic.Bool // the last call got no answer

	life    *lifetime.Life
	closing sync.Once
	closed  error // what closing the client said

	mu       sync.Mutex // guards what follows
	watchers map[hold]*watcher
	own      map[int]string      // the worker IDs that were granted here, with their tokens
	ends     map[int]expectedEnd // of leases that others wait for
}

var (
	_ coord.Coordinator = (*Coordinator)(nil)
	_ coord.LeaseRuler  = (*Coordinator)(nil)
	_ coord.Notifier    = (*Coordinator)(nil)
	_ coord.Lister      = (*Coordinator)(nil)
	_ coord.Inspector   = (*Coordinator)(nil)
	_ coord.Admin       = (*Coordinator)(nil)
	_ coord.Lowerer     = (*Coordinator)(nil)
)

// Acquire implements [coord.Coordinator]. It makes four calls to etcd, or three
// where the identity's last worker ID can be had at once, however many worker IDs
// are held; more only if others take the same ones at the same moment.
func (c *Coordinator) Acquire(ctx context.Context, req coord.Request) (coord.Grant, error) {
	if err := c.checkRequest(req); err != nil {
		return coord.Grant{}, err
	}
	var g coord.Grant
	err := c.do(ctx, "acquire a worker ID", func(ctx context.Context) (err error) {
		g, err = c.acquire(ctx, req)
		return err
	})
	if err == nil {
		c.owns(g)
	}
	return g, err
}

// Renew implements [coord.Coordinator]. The window is extended and the lease kept
// alive at the same time.
func (c *Coordinator) Renew(ctx context.Context, g coord.Grant, until int64) (coord.Grant, error) {
	var r coord.Grant
	err := c.do(ctx, fmt.Sprintf("renew worker ID %d", g.WorkerID), func(ctx context.Context) (err error) {
		r, err = c.renew(ctx, g, until)
		return err
	})
	switch {
	case errors.Is(err, coord.ErrLeaseLost):
		c.unwatch(g)
		c.disowns(g)
	case err == nil:
		c.owns(g)
	}
	return r, err
}

// Release implements [coord.Coordinator].
func (c *Coordinator) Release(ctx context.Context, g coord.Grant, last int64) error {
	err := c.do(ctx, fmt.Sprintf("release worker ID %d", g.WorkerID), func(ctx context.Context) error {
		return c.release(ctx, g, last)
	})
	if err == nil || errors.Is(err, coord.ErrLeaseLost) {
		c.unwatch(g)
		c.disowns(g)
	}
	return err
}

// Close ends what this coordinator has under way and waits for its goroutines. It
// releases no worker ID, and leaves a client that was passed to [New] as it is.
func (c *Coordinator) Close() error {
	c.closing.Do(func() {
		c.life.End()
		if c.owned {
			c.closed = c.client.Close()
		}
	})
	return c.closed
}

// do makes a call that ends with ctx and with the coordinator, and wraps its error.
func (c *Coordinator) do(ctx context.Context, what string, call func(context.Context) error) error {
	return c.life.Do(ctx, what, func(ctx context.Context) error {
		if c.unwell.Load() {
			// The client waits longer and longer between attempts to connect. Whoever makes
			// this call has waited already.
			c.client.ActiveConnection().ResetConnectBackoff()
		}
		err := call(ctx)
		c.unwell.Store(err != nil && transient(err))
		return c.explain(ctx, err)
	})
}

// checkRequest tells whether this driver can serve a request at all.
func (c *Coordinator) checkRequest(req coord.Request) error {
	if err := req.Validate(); err != nil {
		return err
	}
	if err := checkTTL(req.TTL); err != nil {
		return err
	}
	if req.TTL < MinTTL {
		return fmt.Errorf("%w: TTL is %v; etcd needs at least %v", coord.ErrInvalid, req.TTL, MinTTL)
	}
	return lifetime.CheckHorizon(req, MaxHorizon)
}

// owns notes that a worker ID is held by somebody who uses this coordinator, and so
// this clock.
func (c *Coordinator) owns(g coord.Grant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.own[g.WorkerID] = g.Token
}

// disowns is the opposite of owns.
func (c *Coordinator) disowns(g coord.Grant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.own[g.WorkerID] == g.Token {
		delete(c.own, g.WorkerID)
	}
}

// others leaves out the owner keys of worker IDs that are held with this clock.
func (c *Coordinator) others(held []*mvccpb.KeyValue) []*mvccpb.KeyValue {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []*mvccpb.KeyValue
	for _, kv := range held {
		id, err := workerOf(c.keys.owners(), string(kv.Key))
		if _, own := c.own[id]; err == nil && !own {
			out = append(out, kv)
		}
	}
	return out
}

// now reads this machine's clock, in microseconds since 1970.
func (c *Coordinator) now() int64 { return clock.Fresh(c.opts.Clock) }
