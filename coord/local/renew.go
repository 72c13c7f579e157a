package local

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/keeper"
	"github.com/unalike-id/unalike/internal/lifetime"
)

// Renew implements [coord.Coordinator]. It extends the mark in the file, inside the window
// that the back end has granted, and has that renewed behind it when it is time. It waits for
// the back end only if there is nothing left to give. A disk that does not answer soon is an error
// that names the file; the next call goes on waiting for it.
func (c *coordinator) Renew(ctx context.Context, g coord.Grant,
	until int64,
) (out coord.Grant, err error) {
	if err := c.begin(ctx, "renew"); err != nil {
		return out, err
	}
	c.mu.Lock()
	defer c.unlock()
	h := c.find(g)
	switch {
	case h == nil || h.releasing:
		return out, notHeld(g)
	case g.NotAfter > max(h.stored, h.local.NotAfter): // another coordinator has extended it
		c.unlocked(func() { out, err = c.remote.Renew(ctx, g, until) })
		return out, err
	}
	h.asked = max(h.asked, until)
	// The keeper is to read that the disk does not answer before it takes the coordinator for one
	// that does not.
	limit := max(c.window/3, 200*time.Millisecond)
	select {
	case <-h.notice: // the back end takes the lease to be lost
		h.notice = nil
		_ = c.await(ctx, limit, c.extend(h, math.MaxInt64))
	default:
		if lifetime.Now().After(h.due) {
			c.extend(h, math.MaxInt64)
		}
	}
	enough := h.advance(until, c.disk.took)
	if h.stored < enough && (h.entry.Mark <= h.stored || h.entry.Mark < h.tick()) {
		// the back end's window is used up
		if err := c.await(ctx, forever, c.extend(h, g.NotAfter)); err != nil {
			return out, fmt.Errorf("renew worker ID %d: %w", g.WorkerID, cmp.Or(h.failing, err))
		}
		enough = h.advance(until, c.disk.took)
	}
	switch {
	case h.stored >= enough:
	case h.entry.Mark > h.stored:
		waiting, cancel := context.WithTimeout(ctx, limit)
		err = c.store(waiting, func() bool { // on a slow disk, what was stored meanwhile has to do
			return c.disk.took > limit/4 && h.stored > max(g.NotAfter, h.tick())
		})
		cancel()
		if h.stored > g.NotAfter {
			err = nil
		}
	case h.failing != nil && h.stored <= g.NotAfter: //mutant:local-piece-outage
		err = fmt.Errorf("the window in the state file is used up: %w", h.failing)
	}
	switch {
	case c.find(g) != h:
		return out, notHeld(g)
	case err != nil:
		return out, err
	}
	return c.give(h, g), nil
}

// extension is what the back end has made of a grant.
type extension struct{ base, g coord.Grant }

// extend renews a grant in the back end, or resumes it if it is offline, in the background, for a
// keeper that knows of its window as far as a tick. It joins a renewal that is under way, and
// returns what is closed when that ends.
func (c *coordinator) extend(h *heldGrant, known int64) <-chan struct{} {
	if h.renewal != nil {
		return h.renewal
	}
	ended := make(chan struct{})
	h.renewal = ended
	failed := func(err error) {
		c.mu.Lock()
		defer c.unlock()
		h.failing = err
		c.publish(h)
	}
	if !c.life.Spawn(func() {
		defer close(ended)
		x, err := keeper.Ask(h.life, &h.deadline, failed,
			func(ctx context.Context) (x extension, err error) {
				c.mu.Lock()
				defer c.unlock()
				if h.offline {
					return c.resume(ctx, h)
				}
				until := h.until()
				x.base = h.remote
				x.base.NotAfter = min(x.base.NotAfter, max(known, x.base.NotBefore))
				c.unlocked(func() { x.g, err = c.remote.Renew(ctx, x.base, until) })
				return x, err
			})
		c.mu.Lock()
		defer c.unlock()
		c.extended(h, x, err)
	}) {
		close(ended)
	}
	return ended
}

// extended takes over the answer to a renewal.
func (c *coordinator) extended(h *heldGrant, x extension, err error) {
	answers := h.offline && h.failing != nil
	h.renewal, h.failing = nil, err
	switch {
	case c.find(h.local) != h:
		return
	case errors.Is(err, coord.ErrLeaseLost):
		c.warn("the back end says that the worker ID is not held any more", "worker_id", h.entry.Worker,
			"error", err)
		c.forget(h.entry.Worker)
		return
	case err != nil:
		h.due = lifetime.Now().Add(min(h.every/2, longestPause))
	default:
		if answers {
			c.warn("the back end answers again, and has extended the window that was gone on with",
				"worker_id", h.entry.Worker)
		}
		h.adopt(x)
		h.renewed()
		h.entry.Renewed = lifetime.Now().UnixMicro()
	}
	c.publish(h)
}

// adopt takes over what the back end has made of a grant. A piece above a floor takes the place of
// an earlier one of which nothing was used.
func (h *heldGrant) adopt(x extension) {
	h.offline, h.remote = false, x.g
	e, last := h.entry, h.entry.last()
	switch {
	case x.g.NotBefore == x.base.NotBefore && x.g.NotBefore <= last.To:
		last.To = max(last.To, x.g.NotAfter)
	case x.g.NotBefore < x.base.NotAfter:
		h.failing = fmt.Errorf("%w renewal: the driver returned %v for %v", coord.ErrInvalid, x.g, x.base)
	default:
		e.Next = piece{x.g.NotBefore, max(x.g.NotAfter, last.To)}
		h.enter()
	}
}

// resume takes over a grant in the back end, under a new token. That is in the file before it is
// sent, and stays there until an answer comes; whoever goes on meanwhile sends the same one again,
// so that there is one at most however long a crash loop lasts. A request of the dead that arrives
// late does no harm: while the grant has that token it is a renewal, and after the next Resume or a
// Release it is refused.
func (c *coordinator) resume(ctx context.Context, h *heldGrant) (x extension, err error) {
	e := h.entry
	if err := c.declared(ctx, h); err != nil {
		return x, err
	}
	if e.Sent.Token == "" {
		e.Sent = pair{e.Pair.Generation + 1, rand.Text()}
		h.since = c.disk.begun + 1
	}
	next := e.Sent
	x.base = e.grant()
	if err := c.storeOnce(ctx, h.since); err != nil {
		return x, err
	}
	until := h.until()
	c.unlocked(func() { x.g, err = c.remote.Resume(ctx, x.base, next.Token, until) })
	switch {
	case errors.Is(err, coord.ErrLeaseLost):
		return x, c.madeAnew(ctx, h, err)
	case err == nil && e.Sent == next: // else somebody else of this process has resumed it since
		e.Pair, e.Sent, e.Place, e.Nonce = next, pair{}, c.place, cmp.Or(nonceOf(x.g), e.Nonce)
	}
	return x, err
}

// declared returns an error if the namespace does not allow windows as long as those of a grant.
// The back end by itself takes one that is a little too long for one of a clock that differs, and
// cuts it.
func (c *coordinator) declared(ctx context.Context, h *heldGrant) error {
	rules := coord.Describe(c.remote).Rules
	rules.Surviving = false
	longest := rules.HorizonLimit()
	if _, further := lifetime.Ahead(h.req, longest); !further {
		return nil
	}
	ns, err := c.inspect(ctx)
	longest = max(longest, ns.MaxHorizon)
	if ahead, further := lifetime.Ahead(h.req, longest); err == nil && further && ns.Layout != "" {
		return lifetime.Undeclared(ahead, longest,
			fmt.Sprintf("the namespace of state file %q", c.file.Path()))
	}
	return err
}

// madeAnew tells a grant that was lost from one whose namespace was made anew, in which nobody
// remembers what is in the file.
func (c *coordinator) madeAnew(ctx context.Context, h *heldGrant, lost error) error {
	e := h.entry
	if e.Nonce == "" || e.Place != c.place || e.last().To < h.tick() {
		return lost
	}
	switch ns, err := c.inspect(ctx); {
	case err != nil:
		return err
	case ns.Nonce == e.Nonce:
		return lost
	}
	return fmt.Errorf("%w: state file %q has worker ID %d of a namespace of the same name that is "+
		"not there any more: it was made anew, or lost; what that one has granted must be past: delete "+
		"the file when the windows in it are over",
		coord.ErrInvalid, c.file.Path(), e.Worker)
}

// inspect asks the back end which namespace it has.
func (c *coordinator) inspect(ctx context.Context) (ns coord.Namespace, err error) {
	c.unlocked(func() { ns, err = c.remote.Inspect(ctx) })
	return ns, err
}
