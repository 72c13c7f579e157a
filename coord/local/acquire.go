package local

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/keeper"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/statefile"
)

// Acquire implements [coord.Coordinator]. A grant in the file that can be gone on with is
// preferred to a new one; a new one is in the file before it is returned. Beside the errors of
// the coordinator that is wrapped there are those of the file, and while another process has
// it, an error that says which one; that is none of package coord's, so that it is waited for.
func (c *coordinator) Acquire(ctx context.Context, req coord.Request) (g coord.Grant, err error) {
	if err := cmp.Or(c.begin(ctx, "acquire a worker ID"), req.Validate()); err != nil {
		return g, err
	}
	entered := lifetime.Now()
	c.mu.Lock()
	defer c.unlock()
	for c.acquiring[req.Token] != nil { // one at a time with a token
		if err := c.await(ctx, forever, c.acquiring[req.Token]); err != nil {
			return g, err
		}
	}
	if req.MustOpen && c.openSoon(req.Now) { //mutant:local-stays
		return g, fmt.Errorf("the worker ID in state file %q can be used soon: %w", c.file.Path(),
			coord.ErrNoWorkerID)
	}
	c.acquiring[req.Token] = make(chan struct{})
	defer func() {
		close(c.acquiring[req.Token])
		delete(c.acquiring, req.Token)
	}()
	if !c.disk.open {
		if err := c.store(ctx, nil); err != nil {
			return g, fmt.Errorf("acquire a worker ID: %w", err)
		}
	}
	if h := c.held[req.Token]; h != nil {
		if h.releasing {
			return g, notHeld(h.local)
		}
		_ = c.await(ctx, DiskTimeout, c.extend(h, math.MaxInt64)) // it may be lost
		if c.find(h.local) == h {
			return c.give(h, h.local), nil
		}
	}
	g, err = c.choose(ctx, req, entered)
	end := int64(0) // of what the file has
	for _, e := range c.usable(req) {
		end = max(end, e.last().To)
	}
	if err != nil && end > 0 && end < req.Now {
		err = fmt.Errorf("the last window in state file %q ended at %s, so that the coordinator is "+
			"needed, %s: %w", c.file.Path(), when(req, end+1), cmp.Or(c.place, "the one of the URL"), err)
	}
	return g, err
}

// openSoon reports whether every holder can issue IDs within the time of two windows. Then it keeps
// its worker ID, which is what a state file is for.
func (c *coordinator) openSoon(now int64) bool {
	for _, h := range c.held {
		if h.entry.Mark-now > 2*h.window {
			return false
		}
	}
	return len(c.held) > 0
}

// choose goes on with a grant in the file if one serves, and leases another worker ID if none does.
func (c *coordinator) choose(ctx context.Context, req coord.Request,
	entered time.Time,
) (coord.Grant, error) {
	for _, e := range c.usable(req) {
		if e.taken || !slices.Contains(c.entries, e) {
			continue // somebody else has it by now
		}
		g, err := c.goOn(ctx, e, req, entered)
		if err == nil || ctx.Err() != nil || !errors.Is(err, coord.ErrLeaseLost) &&
			(coord.Permanent(err) || c.disk.err != nil) {
			return g, err
		}
	}
	return c.lease(ctx, req, entered)
}

// usable returns the grants in the file with which a request may go on, those first that need no
// back end. A mark that lies further ahead than a crash explains is that of a clock which has gone
// back since: another worker ID serves sooner.
func (c *coordinator) usable(req coord.Request) []*entry {
	var offline, others []*entry
	latest := req.Now + req.Ahead + req.Scale.TicksUp((c.window + DiskTimeout).Microseconds())
	for _, e := range c.entries {
		switch {
		case e.taken, e.Layout != req.Fingerprint, e.Identity != req.Identity,
			e.TTL != req.TTL.Microseconds():
		case e.last().To > req.LastTick, e.Mark > latest: //mutant:local-ahead
		case e.Worker < req.Workers.First, e.Worker-req.Workers.First >= req.Workers.Count:
		case c.servesOffline(e, req.Now):
			offline = append(offline, e)
		default:
			others = append(others, e)
		}
	}
	return append(offline, others...)
}

// servesOffline reports whether an entry serves without the back end: its namespace is known to be
// the one that is asked for, and something of its window is left.
func (c *coordinator) servesOffline(e *entry, now int64) bool {
	//mutant:local-place
	return e.Place == c.place && c.place != "" && e.Nonce != "" && e.last().To > max(e.Mark, now)
}

// goOn goes on with a grant in the file: with the back end, which is waited for for a moment, or
// without it, if it does not answer and something of the window is left.
func (c *coordinator) goOn(ctx context.Context, e *entry, req coord.Request,
	entered time.Time,
) (g coord.Grant, err error) {
	limit, offline := forever, c.servesOffline(e, req.Now)
	if offline {
		limit = DiskTimeout
		if end, ok := ctx.Deadline(); ok {
			limit = min(limit, lifetime.Until(end)/2) //mutant:local-answers
		}
	}
	h := c.newHeldGrant(e, req, entered)
	h.offline = true
	h.local.Generation++ // which it has when the back end has answered
	renewal := c.extend(h, math.MaxInt64)
	err = c.await(ctx, limit, renewal)
	err = cmp.Or(h.failing, err)
	switch {
	case !h.offline:
	case c.find(h.local) != h:
		return g, cmp.Or(err, notHeld(h.local))
	case !offline || ctx.Err() != nil || coord.Permanent(err):
		c.abandon(h)
		_ = c.await(context.WithoutCancel(ctx), DiskTimeout/4, renewal)
		return g, cmp.Or(h.failing, err) // what the call that was cut off says
	default:
		h.failing, h.due = err, h.at
		c.warn("the back end does not answer, going on with the window in the state file", "worker_id",
			e.Worker,
			"until", when(req, e.last().To+1), "error", err)
	}
	return c.serve(ctx, h)
}

// lease leases a worker ID that is not in the file. Nothing is leased that could not be stored: a
// record was written a moment ago, or is written before.
func (c *coordinator) lease(ctx context.Context, req coord.Request,
	entered time.Time,
) (g coord.Grant, err error) {
	for _, e := range c.entries {
		if e.Pair.Token == req.Token || e.Sent.Token == req.Token {
			// The back end would return what it has stored, from its beginning.
			return g, fmt.Errorf("acquire a worker ID: its token is that of worker ID %d in the state "+
				"file, which cannot be gone on with at the moment", e.Worker)
		}
	}
	e := &entry{
		Pair: pair{Token: req.Token}, Layout: req.Fingerprint, Place: c.place, Identity: req.Identity,
		TTL: req.TTL.Microseconds(),
	}
	if err := c.makeRoom(e); err != nil {
		return g, err
	}
	if d := &c.disk; d.busy || d.err != nil || lifetime.Since(d.since) >= c.window {
		if err := c.store(ctx, nil); err != nil {
			return g, fmt.Errorf("acquire a worker ID: %w", err)
		}
	}
	req.Surviving = c.survives()
	c.unlocked(func() {
		d := keeper.RenewDeadline(min(req.TTL/3, longestAsk), req.TTL)
		g, err = keeper.Ask(ctx, &d, nil, func(ctx context.Context) (coord.Grant, error) {
			return c.remote.Acquire(ctx, fresh(req, lifetime.Since(entered)))
		})
	})
	if err != nil {
		return g, err
	}
	if e.Nonce = nonceOf(g); e.Nonce == "" {
		ns, _ := c.inspect(ctx) // without it, the grant needs the back end at a restart
		e.Nonce = ns.Nonce
	}
	c.forget(g.WorkerID) // which was granted anew: it is in the file once at most
	// A back end whose state has gone back has forgotten what was stamped.
	//mutant:local-lost-mark
	g.NotBefore = max(g.NotBefore, min(c.lostMarks[slot{g.WorkerID, req.Fingerprint}], g.NotAfter))
	e.Worker, e.Pair.Generation, e.Current, e.Mark = g.WorkerID, g.Generation,
		piece{g.NotBefore, g.NotAfter}, g.NotBefore
	e.Renewed = lifetime.Now().UnixMicro()
	c.entries = append(c.entries, e)
	h := c.newHeldGrant(e, req, entered)
	h.remote = g
	return c.serve(ctx, h)
}

const (
	// longestAsk bounds how long one acquisition is waited for until another one is made beside it.
	longestAsk = 5 * time.Second
	// staleRequest is how long a request may wait and be passed on as it is.
	staleRequest = 3 * time.Second
)

// fresh is a request that is passed on so much later than it was made: a back end takes a clock
// that is behind for a wrong one.
func fresh(req coord.Request, delay time.Duration) coord.Request {
	if delay >= staleRequest {
		ticks := req.Scale.TicksDown(delay.Microseconds())
		req.Now, req.Until, req.OpenBy = req.Now+ticks, min(req.Until+ticks, req.LastTick),
			req.OpenBy+ticks
	}
	return req
}

// when is when a tick begins.
func when(req coord.Request, tick int64) string {
	return time.UnixMicro(req.Scale.Micro(tick)).UTC().Format("2006-01-02T15:04:05.000Z")
}

// nonceOf is the nonce of the namespace in which a grant was made or extended, which drivers have
// in its handle; empty: that does not tell.
func nonceOf(g coord.Grant) string {
	if h, ok := g.Handle.(interface{ NamespaceNonce() string }); ok {
		return h.NamespaceNonce()
	}
	return ""
}

// serve stores the first mark of a grant and returns it. If that fails, the grant stays in the
// file, or is to be put there, and the next acquisition goes on with it: nothing of it was used.
func (c *coordinator) serve(ctx context.Context, h *heldGrant) (coord.Grant, error) {
	g := h.local
	err := c.store(ctx, nil)
	switch {
	case c.find(g) != h:
		err = notHeld(g)
	case err != nil:
		c.abandon(h)
	default:
		return c.give(h, g), nil
	}
	return coord.Grant{}, fmt.Errorf("acquire worker ID %d: %w", h.entry.Worker, err)
}

// forget ends what is held of a worker ID and takes it out of the file, because the back end knows
// nothing of it any more, but remembers how far it may have been stamped.
func (c *coordinator) forget(worker int) {
	for _, h := range c.held {
		if h.entry.Worker == worker {
			c.end(h)
		}
	}
	c.entries = slices.DeleteFunc(c.entries, func(e *entry) bool {
		if at := (slot{e.Worker, e.Layout}); e.Worker == worker && e.Place == c.place {
			c.lostMarks[at] = max(c.lostMarks[at], e.Mark)
		}
		return e.Worker == worker
	})
}

// growth is how much longer a grant may become in the file than it is now.
const growth = 1 << 10

// makeRoom takes grants out of the file that nobody in this process has, until there is room for
// another one, with whatever all may still grow to. Nothing is leased that has none: one entry too
// many, and no mark could be stored any more.
func (c *coordinator) makeRoom(another *entry) error {
	for {
		all := append(slices.Clone(c.entries), another)
		b, err := json.Marshal(all)
		if err != nil || len(b)+len(all)*growth <= statefile.MaxContent {
			return err
		}
		i := slices.IndexFunc(c.entries, func(e *entry) bool { return !e.taken })
		if i < 0 {
			return fmt.Errorf("%w: state file %q has %d grants, and no room for one more; use a file for "+
				"each generator", coord.ErrInvalid, c.file.Path(), len(c.entries))
		}
		c.entries = slices.Delete(c.entries, i, i+1)
	}
}
