package static

import (
	"context"
	"fmt"
	"sync"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
)

// Coordinator grants the configured worker IDs. It is safe for concurrent use.
// Calls do file operations, which the operating system may not let be
// interrupted: a call whose context ends returns, and the operation goes on behind
// it. The next attempt of the same call waits for its end, or gets its result.
type Coordinator struct {
	opts    Options
	source  source
	storage storage

	turn      chan struct{} // holds one value while an operation is under way
	held      map[int]*hold // by worker ID; only in one's turn
	checked   string        // the layout that all state files agree with; likewise
	done      chan struct{} // closed by Close
	closeOnce sync.Once

	mu       sync.Mutex
	closed   bool
	calls    map[callKey]*call // that somebody may join
	releases []*call           // not begun yet: whoever has the turn does them first
}

var (
	_ coord.Coordinator = (*Coordinator)(nil)
	_ coord.Resumer     = (*Coordinator)(nil)
	_ coord.Describer   = (*Coordinator)(nil)
	_ driver.Lister     = (*Coordinator)(nil)
)

// errNotMade is the error of a Coordinator that is nil or zero.
var errNotMade = fmt.Errorf("%w: this static coordinator was not made by New", coord.ErrInvalid)

// Acquire implements [coord.Coordinator]. The error wraps [coord.ErrNoWorkerID] if
// each of the worker IDs is held, and names the processes that hold them.
func (c *Coordinator) Acquire(ctx context.Context, req coord.Request) (coord.Grant, error) {
	if err := req.Validate(); err != nil {
		return coord.Grant{}, err
	}
	return c.do(ctx, c.acquisition(req))
}

// acquisition returns the call that acquires for req.
func (c *Coordinator) acquisition(req coord.Request) *call {
	var fresh bool
	return &call{
		key: callKey{op: "acquire", token: req.Token},
		run: func(*call) (g coord.Grant, err error) {
			g, fresh, err = c.acquire(req)
			return g, err
		},
		unheard: func(g coord.Grant) {
			// A grant that was there before has a holder. Nobody has been told of a fresh
			// one, so nobody has stamped.
			if fresh {
				_ = c.release(g, g.NotBefore)
			}
		},
	}
}

// Renew implements [coord.Coordinator]. What an earlier renewal has stored after its
// caller had gone is returned at once, if it reaches far enough to begin another
// renewal in time. The result then ends before until, and the window up to until is
// stored behind it.
func (c *Coordinator) Renew(ctx context.Context, g coord.Grant, until int64) (coord.Grant, error) {
	return c.do(ctx, c.renewal(g, until))
}

// renewal returns the call that renews g.
func (c *Coordinator) renewal(g coord.Grant, until int64) *call {
	return &call{
		key:   callKey{op: "renew", worker: g.WorkerID, generation: g.Generation, token: g.Token},
		until: until,
		run:   func(f *call) (coord.Grant, error) { return c.renew(g, f) },
		// A window that reaches further than its holder knows is safe.
		unheard: func(g coord.Grant) {
			if h := c.held[g.WorkerID]; h != nil {
				h.unheard = true
			}
		},
		behind: func(until int64) *call { return c.renewal(g, until) },
	}
}

// Release implements [coord.Coordinator]. It needs nobody but this machine, so it is
// done even if ctx has ended: then behind the caller, before anything else that is
// asked of the coordinator, and before Close returns. If the state file cannot be
// written, the worker ID is free all the same, and its next holder waits for the end
// of the window.
func (c *Coordinator) Release(ctx context.Context, g coord.Grant, last int64) error {
	_, err := c.do(ctx, &call{
		key:    callKey{op: opRelease, worker: g.WorkerID, generation: g.Generation, token: g.Token, last: last},
		run:    func(*call) (coord.Grant, error) { return coord.Grant{}, c.release(g, last) },
		anyhow: true,
	})
	return err
}

// Close frees the locks of all worker IDs that are held still and leaves their
// state files as they are. It waits for a file operation that is under way, and for
// releases that have been asked for.
func (c *Coordinator) Close() error {
	if c == nil || c.turn == nil {
		return errNotMade
	}
	c.closeOnce.Do(func() {
		c.mu.Lock()
		c.closed = true
		c.mu.Unlock()
		close(c.done)
		c.turn <- struct{}{}
		c.doReleases()
		for _, h := range c.held {
			c.drop(h)
		}
		<-c.turn
	})
	return nil
}
