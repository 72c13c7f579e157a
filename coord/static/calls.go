package static

import (
	"context"
	"fmt"

	"github.com/unalike-id/unalike/coord"
)

// opRelease is the operation whose calls are done before all others.
const opRelease = "release"

// callKey says what is asked for. Calls with the same key are one call.
type callKey struct {
	op         string
	worker     int
	generation uint64
	token      string // empty: this call is nobody else's
	last       int64
}

// call is one operation, on behalf of all who have asked for it and wait still. It is
// done in a goroutine of its own: whoever cannot wait any longer leaves, and whoever
// asks for the same meanwhile joins the call instead of making another.
type call struct {
	key callKey
	// run does the operation, in its turn.
	run func(*call) (coord.Grant, error)
	// unheard, if not nil, gets the result if nobody waited for it. It is called in the
	// operation's turn.
	unheard func(coord.Grant)
	// behind, if not nil, returns the call that is made behind this one if somebody has
	// asked for more than it stored.
	behind func(until int64) *call
	// anyhow says that the operation is done even if nobody waits for it.
	anyhow bool

	done chan struct{} // closed when grant and err are there
	quit chan struct{} // closed when nobody waits any more for what has not begun
	// grant and err are the result.
	grant coord.Grant
	err   error

	// The others are guarded by the coordinator's mu.
	callers int  // who wait
	begun   bool // cannot be called off any more
	// until is the latest end of a window that a caller has asked for, and stored how
	// much of that run has seen to.
	until, stored int64
}

// do makes a call, or joins one that is the same, and waits for its result or the end of ctx.
func (c *Coordinator) do(ctx context.Context, f *call) (coord.Grant, error) {
	if c == nil || c.turn == nil {
		return coord.Grant{}, errNotMade
	}
	c.mu.Lock()
	switch {
	case c.closed:
		c.mu.Unlock()
		return coord.Grant{}, coord.ErrClosed
	case ctx.Err() != nil && !f.anyhow:
		c.mu.Unlock()
		return coord.Grant{}, c.ended(ctx, f)
	}
	if same := c.calls[f.key]; same != nil {
		same.until = max(same.until, f.until)
		f = same
	} else {
		c.begin(f)
	}
	f.callers++
	c.mu.Unlock()
	select {
	case <-f.done:
		return f.grant, f.err
	case <-ctx.Done():
		return c.leave(ctx, f)
	}
}

// begin starts the goroutine of a call. The caller holds mu.
func (c *Coordinator) begin(f *call) {
	f.done, f.quit = make(chan struct{}), make(chan struct{})
	if f.key.token != "" {
		c.calls[f.key] = f
	}
	if f.key.op == opRelease {
		c.releases = append(c.releases, f)
	}
	go c.serve(f)
}

// leave is for a caller whose context has ended. Either it gets the result, or the
// call is told that it does not.
func (c *Coordinator) leave(ctx context.Context, f *call) (coord.Grant, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-f.done:
		return f.grant, f.err
	default:
	}
	if f.callers--; f.callers == 0 && !f.begun && !f.anyhow {
		delete(c.calls, f.key)
		close(f.quit)
	}
	return coord.Grant{}, c.ended(ctx, f)
}

// ended is the error of a call whose context has ended.
func (c *Coordinator) ended(ctx context.Context, f *call) error {
	return fmt.Errorf("%s static worker ID of namespace %q: %w", f.key.op, c.opts.Namespace, ctx.Err())
}

// serve waits for the turn of a call and does it.
func (c *Coordinator) serve(f *call) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-f.quit:
		return
	case <-f.done: // a release that somebody else has done
		return
	case <-c.done:
		if f.key.op != opRelease { // which Close does
			c.finish(f, coord.Grant{}, coord.ErrClosed)
		}
		return
	}
	c.doReleases()
	if f.key.op == opRelease {
		return
	}
	c.mu.Lock()
	var off bool
	select {
	case <-f.quit:
		off = true
	default:
	}
	f.begun = true
	closed := c.closed // select is not fair to those who closed first
	c.mu.Unlock()
	switch {
	case off:
	case closed:
		c.finish(f, coord.Grant{}, coord.ErrClosed)
	default:
		g, err := f.run(f)
		c.finish(f, g, err)
	}
}

// doReleases does what has been asked for of releases. A worker ID that was released
// is then free for every later call, whoever comes first to its turn. It is called in
// one's turn.
func (c *Coordinator) doReleases() {
	for {
		c.mu.Lock()
		if len(c.releases) == 0 {
			c.mu.Unlock()
			return
		}
		f := c.releases[0]
		c.releases = c.releases[1:]
		c.mu.Unlock()
		g, err := f.run(f)
		c.finish(f, g, err)
	}
}

// finish gives the result of a call to those who wait for it.
func (c *Coordinator) finish(f *call, g coord.Grant, err error) {
	c.mu.Lock()
	f.grant, f.err = g, err
	if c.calls[f.key] == f {
		delete(c.calls, f.key)
	}
	heard := f.callers > 0
	if f.behind != nil && err == nil && f.until > f.stored && !c.closed {
		next := f.behind(f.until)
		next.anyhow = true
		c.begin(next)
	}
	close(f.done)
	c.mu.Unlock()
	if !heard && err == nil && f.unheard != nil {
		f.unheard(g)
	}
}
