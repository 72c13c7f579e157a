package protocol

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
)

// renewal is one call of Renew or Resume.
type renewal struct {
	*holding
	token   string // of the grant afterwards
	until   int64
	from    int64 // NotBefore of the result
	floored bool  // the window could not grow
}

// Renew implements [coord.Coordinator]. The lease is kept alive, or put back, with the
// same step.
func (c *Coordinator) Renew(ctx context.Context, g coord.Grant, until int64) (coord.Grant, error) {
	return c.renew(ctx, "renew", g, g.Token, until)
}

// Resume implements [coord.Resumer].
func (c *Coordinator) Resume(ctx context.Context, g coord.Grant, token string,
	until int64,
) (coord.Grant, error) {
	if err := g.CheckResume(token); err != nil {
		return coord.Grant{}, err
	}
	r, err := c.renew(ctx, "resume", g, token, until)
	if err == nil {
		c.unwatch(g) //mutant:resumed-watch
	}
	return r, err
}

// renew renews a grant, under another token if that is to be.
func (c *Coordinator) renew(ctx context.Context, what string, g coord.Grant, token string,
	until int64,
) (coord.Grant, error) {
	var out coord.Grant
	err := c.life.Do(ctx, fmt.Sprintf("%s worker ID %d", what, g.WorkerID),
		func(ctx context.Context) error {
			h, err := c.newHolding(ctx, g, token)
			if err != nil {
				return err
			}
			defer c.leave(h.t)
			r := &renewal{holding: h, token: token, until: until}
			if token != g.Token {
				h.next = g
				h.next.Token, h.next.Generation = token, g.Generation+1
			}
			switch err := h.keep(ctx, r.turn); {
			case errors.Is(err, coord.ErrLeaseLost):
				c.unwatch(g)
				h.lose()
				return err
			case err != nil:
				return err
			case r.floored:
				return r.v.Meta.Record.Quarantined(c.set.Namespace, c.farthest(h.s, r.v.Meta.Record))
			}
			out = r.v.grant()
			out.NotBefore = r.from
			return nil
		})
	return out, err
}

// suffices reports whether there is no time for as much again as looking took, and what
// is stored does for now: a renewal was done of which the holder did not learn, and the window
// goes on without a gap.
func (r *renewal) suffices(ctx context.Context) bool {
	end, ok := ctx.Deadline()
	slot := r.v.Slot.Record
	return ok && r.took > 0 && lifetime.Until(end) < r.took+r.took/2 && r.token == r.g.Token &&
		r.s.Holds(r.v) &&
		slot.NotAfter > r.g.NotAfter && max(slot.NotBefore, r.v.Meta.Record.Floor) <= r.g.NotAfter
}

// turn makes the change, and looks what happened if that is not clear.
func (r *renewal) turn(ctx context.Context) (bool, error) {
	if err := r.checkResumed(); err != nil {
		return false, err
	}
	if r.suffices(ctx) {
		r.from, r.floored = r.g.NotBefore, false
		r.adopt(r.t, r.v, r.extent)
		return true, nil
	}
	until, now := r.clamped(r.s, r.v.Meta.Record, r.until), r.now()
	if !r.believes(r.v.Meta.Record, r.until) { // the lease is kept, and nothing else
		if r.token != r.g.Token {
			return false, cmp.Or(r.awaitClock(), errBusy)
		}
		until = r.g.NotAfter
		now -= r.stepped().Microseconds()
	}
	change, from, grows := planRenewal(r.v, r.g, r.token, until, now, r.s.Holds(r.v))
	r.from, r.floored = from, !grows
	answered := r.extent.asks(change.Slot.NotAfter) //mutant:own-under-way
	out, unsound, err := r.commit(ctx, r.s, change, r.known)
	//mutant:sent-twice
	answered(err != nil || out.Done || out.Repeated) //mutant:copy-refused
	switch {
	case err != nil:
		r.doubtful(r.t)
		return r.resolve(ctx, change, err)
	case !out.Done:
		return false, r.again(change, out)
	case unsound: //mutant:renewal-unsound
		r.v = nil
		return false, nil // what was extended may not be used; the next turn raises the floor
	}
	r.v = out.Now
	r.adopt(r.t, r.v, r.extent)
	if r.token != r.g.Token {
		r.g, r.known, r.extent = r.next, nil, nil
		change.Owner = OwnerStays // which is no news
	}
	if out.Lapsed {
		r.v = nil
		return false, nil
	}
	if change.Owner == OwnerTaken {
		r.log.Info("lease put back", "namespace", r.set.Namespace, "worker_id", r.g.WorkerID)
	}
	return true, nil
}

// resolve looks what became of a change whose answer was lost. If it was done, what is
// stored is adopted.
func (r *renewal) resolve(ctx context.Context, change Change, cause error) (bool, error) {
	if err := r.lookAgain(ctx); err != nil {
		return false, unclear(cause, err)
	}
	switch v := r.v; {
	case !r.detector.sound(v.losses):
	case v.Slot.Record == *change.Slot && r.s.Holds(v) && v.Meta.Version == change.Before.Meta.Version:
		r.adopt(r.t, v, r.extent)
		return true, nil
	case v.same(change.Before):
		return false, cause // trying again is up to the caller
	}
	return false, nil
}
