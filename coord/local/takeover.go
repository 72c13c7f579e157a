package local

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
)

// usable returns the grants in the file that may be gone on with for a request, the best first.
// Preferred to a new lease are those of its identity whose windows open in time. The caller
// holds mu.
func (c *Coordinator) usable(req coord.Request) (preferred, others []*entry) {
	for _, e := range c.entries {
		switch {
		case c.disk != nil, !c.free(e), e.Layout != req.Fingerprint, e.end() > req.LastTick:
		case e.Worker < req.Workers.First || e.Worker-req.Workers.First >= req.Workers.Count:
		case e.Identity == req.Identity && !e.late(req, c.window):
			preferred = append(preferred, e)
		default:
			others = append(others, e)
		}
	}
	rank := func(e *entry) int {
		switch {
		case e.late(req, c.window):
			return 2
		case !c.alone(e, req):
			return 1
		}
		return 0
	}
	for _, all := range [][]*entry{preferred, others} {
		slices.SortStableFunc(all, func(a, b *entry) int {
			return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Mark, b.Mark))
		})
	}
	return preferred, others
}

// free reports whether an entry is in the file, and nobody in this process has it.
func (c *Coordinator) free(e *entry) bool { return !e.taken && slices.Contains(c.entries, e) }

// alone reports whether an entry serves without the back end: its namespace is known to be the
// one that is asked for, and something of its window is left.
func (c *Coordinator) alone(e *entry, req coord.Request) bool {
	above := max(e.Mark, req.Now)
	return !e.elsewhere && e.Nonce != "" && c.place != "" && e.at(above).To > above
}

// late reports whether the mark of an entry lies further ahead than a crash explains: the
// clock is behind, and a worker ID is wanted whose window opens in time.
func (e *entry) late(req coord.Request, window time.Duration) bool {
	return opensLate(e.Mark, req.Now, req, window)
}

// opensLate reports whether what begins at a tick lies that far ahead of a moment.
func opensLate(mark, now int64, req coord.Request, window time.Duration) bool {
	return mark > now+req.Ahead+req.Scale.TicksUp((window+Patience).Microseconds())
}

// allLate reports whether the marks of all entries lie that far ahead.
func (c *Coordinator) allLate(entries []*entry, req coord.Request) bool {
	return !slices.ContainsFunc(entries, func(e *entry) bool { return !e.late(req, c.window) })
}

// takeOver goes on with a grant in the file with the back end, or without it, if it does not
// answer any more. The error is [coord.ErrLeaseLost] if the back end says that it is not held
// any more. The caller holds mu, which is given up meanwhile.
func (c *Coordinator) takeOver(ctx context.Context, e *entry, ask asking, ns coord.Namespace) (coord.Grant, error) {
	if err := c.allowed(e, ns, ask.Request, ask.Now); err != nil {
		return coord.Grant{}, err
	}
	alone := c.alone(e, ask.Request)
	base, r, err := c.goOver(ctx, e, ns, ask.Until, alone)
	switch {
	case c.life.Context().Err() != nil:
		return coord.Grant{}, coord.ErrClosed
	case err == nil:
		h := c.newHold(e, ask)
		h.inner = base
		c.extended(h, base, r)
		return c.goOnAs(ctx, h)
	case !alone || errors.Is(err, coord.ErrLeaseLost) || c.hopeless(ctx, err):
		return coord.Grant{}, err
	}
	return c.goOn(ctx, e, ask, err)
}

// goOn goes on with a grant in the file without the back end, which does not answer. The
// caller holds mu, which is given up meanwhile.
func (c *Coordinator) goOn(ctx context.Context, e *entry, ask asking, away error) (coord.Grant, error) {
	h := c.newHold(e, ask)
	h.alone = true
	h.inner = e.grant(e.Pairs[0])
	c.log.Warn("the back end does not answer, going on with the window in the state file", "worker_id", e.Worker,
		"until", time.UnixMicro(ask.Scale.Micro(e.end()+1)).UTC(), "error", away)
	h.done(ask.entered, away, false)
	return c.goOnAs(ctx, h)
}

// goOnAs begins a hold of an entry above its mark.
func (c *Coordinator) goOnAs(ctx context.Context, h *hold) (coord.Grant, error) {
	e := h.entry
	p := e.at(max(e.Mark, min(h.req.Now, e.end()-1)))
	e.Mark, e.Parked = max(e.Mark, p.From), false
	h.outer = coord.Grant{WorkerID: e.Worker, Generation: e.Pairs[0].Generation, Token: h.req.Token, NotBefore: e.Mark, NotAfter: e.Mark}
	if h.alone {
		h.outer.Generation++ // what it will have when the back end answers
	}
	h.safe = e.Mark
	return c.serve(ctx, h)
}

// grant is the entry as the back end has it under a pair.
func (e *entry) grant(p pair) coord.Grant {
	last := e.Pieces[len(e.Pieces)-1]
	return coord.Grant{WorkerID: e.Worker, Generation: p.Generation, Token: p.Token, NotBefore: max(last.From, min(e.Mark, last.To)), NotAfter: last.To}
}

// names reports whether a token is one of the entry's.
func (e *entry) names(token string) bool {
	return slices.ContainsFunc(e.Pairs, func(p pair) bool { return p.Token == token })
}

// goOver resumes a grant in the back end, whose namespace is ns, and returns what it was
// resumed from. The token is in the file before it is sent. One that was sent without an answer
// is sent again, by whoever goes on with the entry, so that there is one at most, however long a
// crash loop lasts, and Release knows both pairs that the back end can have. A request of the dead that arrives
// late does no harm: while the grant has that token it is a renewal, by which no window ends
// earlier, and after the next Resume or a Release it is refused, because neither of its pairs is
// the slot's. The caller holds mu, which is given up meanwhile.
func (c *Coordinator) goOver(ctx context.Context, e *entry, ns coord.Namespace, until int64, alone bool) (base, r coord.Grant, err error) {
	base = e.grant(e.Pairs[0])
	if len(e.Pairs) == 1 {
		e.Pairs = append(e.Pairs, pair{e.Pairs[0].Generation + 1, rand.Text()})
		e.paired = c.saver.wanted + 1
	}
	next := e.Pairs[1]
	if err := c.storeOnce(ctx, e.paired); err != nil { // 0: by another process
		return base, r, err
	}
	if alone { // it serves without an answer as well
		var cancel context.CancelFunc
		ctx, cancel = c.patience(ctx)
		defer cancel()
	}
	c.mu.Unlock()
	r, err = c.inner.Resume(ctx, base, next.Token, until)
	c.mu.Lock()
	switch {
	case err != nil:
		return base, r, err
	case r.Generation != next.Generation || r.Token != next.Token || r.WorkerID != e.Worker:
		return base, r, lost(base, "the back end has resumed it as %v", r)
	case len(e.Pairs) != 2 || e.Pairs[1] != next:
		return base, r, errOvertaken
	}
	e.Pairs = []pair{next}
	e.Nonce, e.Place, e.elsewhere = ns.Nonce, c.place, false
	e.Renewed = c.sys.now().UnixMicro()
	return base, r, nil
}

// errOvertaken says that a grant which was parked meanwhile has been resumed by the next holder.
var errOvertaken = errors.New("somebody else in this process has resumed it")

// allowed reports whether the namespace that the back end has, ns, lets a request go on with an
// entry: it is that of the entry, and windows may be as long as the request's. The back end by
// itself takes a window that is a little too long for one of a clock that differs, and cuts it.
// The caller holds mu.
func (c *Coordinator) allowed(e *entry, ns coord.Namespace, req coord.Request, now int64) error {
	if err := c.sameNamespace(e, ns, now); err != nil {
		return err
	}
	longest := max(coord.Describe(c.inner).Rules.HorizonLimit(), ns.MaxHorizon)
	if ahead, further := lifetime.Ahead(req, longest); further && ns.Layout != "" {
		return lifetime.Undeclared(ahead, longest, fmt.Sprintf("the namespace of state file %q", c.path))
	}
	return nil
}

// sameNamespace compares the namespace that the back end has with that of an entry. The
// caller holds mu.
func (c *Coordinator) sameNamespace(e *entry, ns coord.Namespace, now int64) error {
	switch {
	case e.Nonce == "" || ns.Nonce == e.Nonce:
		return nil
	case e.elsewhere || e.end() < now:
		return lost(e.grant(e.Pairs[0]), "the state file is of another namespace")
	}
	return fmt.Errorf("%w: state file %q has worker ID %d of a namespace of the same name that is not there any more: it was made anew, or lost; what that one has granted must be past: delete the file when the windows in it are over",
		coord.ErrInvalid, c.path, e.Worker)
}
