package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
)

// asking is an acquisition, and when it was called: its Now is of that moment.
type asking struct {
	coord.Request
	entered time.Time
}

// present is the request as it would be made now, if the disk has taken its time: a back end takes a clock that is behind for
// a wrong one.
func (a asking) present() coord.Request {
	req, passed := a.Request, lifetime.Since(a.entered)
	if ticks := min(req.Scale.TicksDown(passed.Microseconds()), req.LastTick-req.Until); passed >= staleRequest && ticks > 0 {
		req.Now, req.Until, req.OpenBy = req.Now+ticks, req.Until+ticks, min(req.OpenBy, req.LastTick)+ticks
	}
	return req
}

// staleRequest is how long a request may wait for the disk and be passed on as it is.
const staleRequest = 500 * time.Millisecond

// Acquire implements [coord.Coordinator]. A grant in the file that can be gone on with is
// preferred to a new one; a new one is in the file before it is returned. Beside the errors of
// the coordinator that is wrapped there are those of the file, and while another process has
// it, an error that says which one; that is none of package coord's, so that it is waited for.
func (c *Coordinator) Acquire(ctx context.Context, req coord.Request) (coord.Grant, error) {
	if err := c.begin(ctx, "acquire a worker ID"); err != nil {
		return coord.Grant{}, err
	}
	if err := req.Validate(); err != nil {
		return coord.Grant{}, err
	}
	ask := asking{req, lifetime.Now()}
	if err := c.open(ctx); err != nil {
		return coord.Grant{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.enqueue(ctx, req.Token); err != nil {
		return coord.Grant{}, err
	}
	defer c.leave(req.Token)
	h := c.holds[req.Token]
	switch {
	case h == nil:
		return c.choose(ctx, ask)
	case h.releasing:
		return coord.Grant{}, lost(h.outer, "it is being given back")
	}
	if c.check(ctx, h, req.Until); c.still(h) == nil {
		return h.first(), nil
	}
	return c.choose(ctx, ask)
}

// check finds out by a renewal whether a hold is over, if the back end answers. It is not asked
// with Acquire, because it would give a grant back that a floor has passed, and the file has it.
// The caller holds mu, which is given up meanwhile.
func (c *Coordinator) check(ctx context.Context, h *hold, until int64) {
	c.extend(h, until)
	ended := h.ended
	if ended == nil {
		return
	}
	ctx, cancel := c.patience(ctx)
	defer cancel()
	c.mu.Unlock()
	defer c.mu.Lock()
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// enqueue waits until no other acquisition with a token is under way. It is called with mu
// held, and gives it up while it waits.
func (c *Coordinator) enqueue(ctx context.Context, token string) error {
	for c.asking[token] != nil {
		other := c.asking[token]
		c.mu.Unlock()
		var err error
		select {
		case <-other:
		case <-ctx.Done():
			err = fmt.Errorf("acquire a worker ID: %w", context.Cause(ctx))
		}
		c.mu.Lock()
		if err != nil {
			return err
		}
	}
	c.asking[token] = make(chan struct{})
	return nil
}

// leave lets the next acquisition with a token begin. The caller holds mu.
func (c *Coordinator) leave(token string) {
	close(c.asking[token])
	delete(c.asking, token)
}

// choose finds a worker ID for an acquisition: in the file, or in the back end. While the back
// end is away, what is in the file is gone on with; else the entries that are preferred come
// before a new lease, and the others after it. The caller holds mu.
func (c *Coordinator) choose(ctx context.Context, ask asking) (coord.Grant, error) {
	c.judgeDisk()
	preferred, others := c.usable(ask.Request)
	all := slices.Concat(preferred, others)
	if len(all) == 0 {
		g, err := c.lease(ctx, ask)
		if err == nil || !c.recovers(ctx) {
			return g, err
		}
		return c.choose(ctx, ask)
	}
	alone := slices.DeleteFunc(slices.Clone(all), func(e *entry) bool { return !c.alone(e, ask.Request) })
	ns, away := c.answers(ctx, ask, alone)
	switch {
	case away == nil:
		return c.chooseWith(ctx, preferred, others, ask, ns)
	case coord.Permanent(away):
		return coord.Grant{}, away
	case len(alone) == 0 && ctx.Err() != nil: // no time is left to lease anything
		return coord.Grant{}, c.notAlone(all, ask.Request, away)
	case len(alone) == 0:
		g, err := c.lease(ctx, ask)
		return g, c.notAlone(all, ask.Request, err)
	}
	g, err := c.firstOf(ctx, alone, func(e *entry) (coord.Grant, error) { return c.goOn(ctx, e, ask, away) })
	if errors.Is(err, errNone) {
		err = fmt.Errorf("%w, and the back end does not answer: %w", err, away)
	}
	return g, err
}

// notAlone says beside an error, if there is one, when the windows in the file have ended, if they have: that is why
// nothing serves without the back end. The caller holds mu.
func (c *Coordinator) notAlone(all []*entry, req coord.Request, err error) error {
	end := slices.MaxFunc(all, func(a, b *entry) int { return cmp.Compare(a.end(), b.end()) }).end()
	if err == nil || end >= req.Now {
		return err
	}
	at := time.UnixMicro(req.Scale.Micro(end + 1)).UTC().Format("2006-01-02T15:04:05.000Z")
	return fmt.Errorf("the last window in state file %q ended at %s, so that the coordinator is needed: %w", c.path, at, err)
}

// chooseWith is choose while the back end answers.
func (c *Coordinator) chooseWith(ctx context.Context, preferred, others []*entry, ask asking, ns coord.Namespace) (coord.Grant, error) {
	g, err := c.firstOf(ctx, preferred, func(e *entry) (coord.Grant, error) {
		if e.TTL != ask.TTL.Microseconds() {
			return coord.Grant{}, c.surrender(ctx, e, ns, ask.Now) // the lease in the back end keeps its own
		}
		return c.takeOver(ctx, e, ask, ns)
	})
	if err == nil || c.hopeless(ctx, err) {
		return g, err
	}
	if len(others) == 0 {
		return c.lease(ctx, ask)
	}
	leasing, cancel := ctx, func() {}
	if !c.allLate(others, ask.Request) {
		leasing, cancel = c.patience(ctx)
	}
	defer cancel()
	g, err = c.lease(leasing, ask)
	if err == nil || c.hopeless(ctx, err) {
		return g, err
	}
	g, late := c.firstOf(ctx, others, func(e *entry) (coord.Grant, error) { return c.takeOver(ctx, e, ask, ns) })
	if late != nil {
		return g, errors.Join(err, late)
	}
	return g, nil
}

// errNone says that no entry is left to be tried.
var errNone = errors.New("no grant in the state file could be gone on with")

// firstOf tries entries in their order until one serves. Those that are lost are forgotten.
// The error is the last one. The caller holds mu.
func (c *Coordinator) firstOf(ctx context.Context, entries []*entry, try func(*entry) (coord.Grant, error)) (coord.Grant, error) {
	last := errNone
	for _, e := range entries {
		if !c.free(e) {
			continue // while another one was tried, somebody else has taken it
		}
		e.taken = true
		g, err := try(e)
		if err == nil {
			return g, nil
		}
		e.taken, last = false, err
		switch {
		case errors.Is(err, coord.ErrLeaseLost):
			c.dropLost(e)
			c.log.Warn("a grant in the state file is not held any more", "worker_id", e.Worker, "error", err)
		case c.hopeless(ctx, err):
			return coord.Grant{}, err
		default:
			c.log.Warn("a grant in the state file could not be gone on with", "worker_id", e.Worker, "error", err)
		}
	}
	return coord.Grant{}, last
}

// hopeless reports whether an error ends an acquisition, whatever else could be tried.
func (c *Coordinator) hopeless(ctx context.Context, err error) bool {
	_, failed := errors.AsType[*diskError](err)
	final := coord.Permanent(err) && !errors.Is(err, coord.ErrNoWorkerID)
	return ctx.Err() != nil || c.life.Context().Err() != nil || final || failed || errors.Is(err, errUnwritten)
}

// answers finds out whether the back end answers, and which namespace it has. If something
// serves without it, it is not waited for for long, or for longer if that opens late; if nothing does, what
// the attempt before has heard is good for this one: else a back end that takes its time would never be
// asked for more than that. The caller holds mu, which is given up meanwhile.
func (c *Coordinator) answers(ctx context.Context, ask asking, without []*entry) (coord.Namespace, error) {
	if before, ok := c.heard[ask.Token]; ok && len(without) == 0 && lifetime.Since(before.at) < ask.TTL {
		delete(c.heard, ask.Token) // the next attempt asks again
		return before.ns, nil
	}
	if len(without) > 0 {
		limit := Patience
		if c.allLate(without, ask.Request) {
			limit = ask.TTL
		}
		var cancel context.CancelFunc
		ctx, cancel = half(ctx, limit)
		defer cancel()
	}
	c.mu.Unlock()
	ns, err := c.inner.Inspect(ctx)
	c.mu.Lock()
	maps.DeleteFunc(c.heard, func(_ string, a answer) bool { return lifetime.Since(a.at) >= ask.TTL })
	if err == nil {
		c.heard[ask.Token] = answer{ns, lifetime.Now()}
	}
	return ns, err
}

// answer is which namespace the back end has said that it has, and when.
type answer struct {
	ns coord.Namespace
	at time.Time
}

// patience is how long something is waited for that can be done without: half of what is left
// of ctx, and no longer than Patience.
func (*Coordinator) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	return half(ctx, Patience)
}

// half is half of what is left of ctx, and no longer than a limit.
func half(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, lifetime.Until(deadline)/2)
	}
	return context.WithTimeout(ctx, limit)
}

// lease leases a worker ID that is not in the file. A record is written before, unless one was written a moment ago: processes that
// end one after the other because of their disk lease nothing, and none asks for a worker ID in vain while the disk hangs. The caller
// holds mu, which is given up meanwhile.
func (c *Coordinator) lease(ctx context.Context, ask asking) (coord.Grant, error) {
	for _, e := range c.entries {
		if e.names(ask.Token) && c.disk == nil {
			// The back end would return what it has stored, from its beginning.
			return coord.Grant{}, fmt.Errorf("acquire a worker ID: its token is that of worker ID %d in the state file, which cannot be gone on with at the moment", e.Worker)
		}
	}
	if c.disk != nil {
		return c.bare(ctx, ask.present())
	}
	if err := c.makeRoom(ask.Request); err != nil {
		return coord.Grant{}, err
	}
	if s := &c.saver; s.stored != s.made || s.busy || lifetime.Since(s.began) >= c.window {
		if err := c.store(ctx); err != nil {
			return coord.Grant{}, fmt.Errorf("acquire a worker ID: %w", err)
		}
	}
	ask.Surviving = c.survives()
	g, err := c.acquire(ctx, ask.present())
	if err != nil {
		return coord.Grant{}, err
	}
	return c.enter(ctx, g, ask)
}

// acquire asks the back end. The caller holds mu, which is given up meanwhile.
func (c *Coordinator) acquire(ctx context.Context, req coord.Request) (coord.Grant, error) {
	c.mu.Unlock()
	defer c.mu.Lock()
	return c.inner.Acquire(ctx, req)
}

// enter puts a new grant into the file. If that fails, the grant is not used, and nothing of
// it is given back: the file may have it, and the next acquisition goes on with it.
func (c *Coordinator) enter(ctx context.Context, g coord.Grant, ask asking) (coord.Grant, error) {
	if c.disk != nil {
		// It is not given back: the next call with its token would be granted it again, and what was sent could come after that.
		if c.named(g.WorkerID) {
			return coord.Grant{}, fmt.Errorf("acquire worker ID %d: the state file names it: %w", g.WorkerID, c.disk)
		}
		delete(c.aliases, g.Token)
		return c.outside(c.above(g, ask.Fingerprint), c.excess(ask.Request)), nil
	}
	if err := c.replace(g, ask.Fingerprint); err != nil {
		return coord.Grant{}, err
	}
	g = c.above(g, ask.Fingerprint)
	e := newEntry(ask.Request, c.place)
	e.Worker, e.Pairs[0].Generation, e.Mark = g.WorkerID, g.Generation, g.NotBefore
	e.Pieces = []piece{{g.NotBefore, g.NotAfter}}
	e.Renewed, e.Nonce = c.sys.now().UnixMicro(), nonceOf(g)
	h := c.newHold(e, ask)
	h.inner, h.outer = g, g
	h.outer.NotAfter = g.NotBefore
	c.entries = append(c.entries, e)
	if e.Nonce == "" {
		c.life.Spawn(func() { c.learn(c.life.Context(), ask.TTL) })
	}
	return c.serve(ctx, h)
}

// above is a new grant without what may have been stamped under one that was lost. A back end whose state has gone back without
// anybody's notice has forgotten that; to every other this changes nothing. The caller holds mu.
func (c *Coordinator) above(g coord.Grant, layout string) coord.Grant {
	g.NotBefore = max(g.NotBefore, min(c.passed[slot{g.WorkerID, layout}], g.NotAfter))
	return g
}

// nonceOf is the nonce of the namespace in which a new grant was made, which drivers have in
// its handle: so it is in the first record, and a crash right after that is outlived. Empty: the
// handle does not tell.
func nonceOf(g coord.Grant) string {
	if h, ok := g.Handle.(interface{ NamespaceNonce() string }); ok {
		return h.NamespaceNonce()
	}
	return ""
}

// newEntry is the entry of a request as far as it is known before it is granted.
func newEntry(req coord.Request, place string) *entry {
	return &entry{Pairs: []pair{{1, req.Token}}, Layout: req.Fingerprint, Identity: req.Identity, TTL: req.TTL.Microseconds(), Place: place}
}

// replace takes the entry of a worker ID out of the file, because it was granted anew: there
// is one for each worker ID at most. The generations of another layout are those of a namespace that is not there any
// more. The caller holds mu.
func (c *Coordinator) replace(g coord.Grant, layout string) error {
	for _, o := range c.entries {
		if o.Worker != g.WorkerID {
			continue
		}
		if !o.elsewhere && o.Layout == layout && o.Pairs[0].Generation >= g.Generation {
			return fmt.Errorf("acquire worker ID %d: the answer came too late: generation %d is in the state file, and this is %d", g.WorkerID, o.Pairs[0].Generation, g.Generation)
		}
		for _, h := range c.holds {
			if h.entry == o {
				c.lose(h, lost(h.outer, "it was granted anew, as generation %d", g.Generation))
			}
		}
		c.dropLost(o)
		return nil
	}
	return nil
}

// serve stores the first mark of a hold and returns its grant. If that fails, somebody else
// may go on with what is in the file: nothing of it was used. The caller holds mu.
func (c *Coordinator) serve(ctx context.Context, h *hold) (coord.Grant, error) {
	h.start = h.entry.Mark
	c.holds[h.outer.Token] = h
	delete(c.fates, nameOf(h.outer))
	err := c.store(ctx)
	if err == nil {
		err = c.still(h)
	}
	if err != nil {
		if c.holds[h.outer.Token] == h {
			delete(c.holds, h.outer.Token)
			h.entry.Mark, h.entry.taken = h.start, false
		}
		return coord.Grant{}, fmt.Errorf("acquire worker ID %d: %w", h.entry.Worker, err)
	}
	h.served = true
	c.hinted(h)
	return h.first(), nil
}

// first is the grant as it is when it is returned by Acquire.
func (h *hold) first() coord.Grant { return h.given(h.outer) }

// learn finds out which namespace it is whose grants are new in the file, where their handles do
// not tell.
func (c *Coordinator) learn(ctx context.Context, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ns, err := c.inner.Inspect(ctx)
	if err != nil || ns.Nonce == "" {
		return // the next renewal tries again
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	news := false
	for _, h := range c.holds {
		if h.entry.Nonce == "" && !h.alone {
			h.entry.Nonce, news = ns.Nonce, true
		}
	}
	if news && c.file != nil {
		_ = c.store(ctx) // or with the next mark
	}
}
