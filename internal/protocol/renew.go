package protocol

import (
	"context"
	"errors"

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

func (c *Coordinator) renew(ctx context.Context, g coord.Grant, token string, until int64) (coord.Grant, error) {
	h, err := c.hold(g, token)
	if err != nil {
		return coord.Grant{}, err
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
		return coord.Grant{}, err
	case err != nil:
		return coord.Grant{}, err
	}
	if r.floored {
		return coord.Grant{}, r.v.Meta.Record.Quarantined(c.set.Namespace, c.reach(h.s, r.v.Meta.Record))
	}
	out := r.v.grant()
	out.NotBefore = r.from
	return out, nil
}

// suffices reports whether there is no time for as much again as looking took, and what
// is stored does for now.
func (r *renewal) suffices(ctx context.Context, s Session) bool {
	end, ok := ctx.Deadline()
	return ok && r.took > 0 && lifetime.Until(end) < r.took+r.took/2 && r.token == r.g.Token && s.Holds(r.v) && r.v.exceeds(r.g)
}

// turn makes the change, and looks what happened if that is not clear.
func (r *renewal) turn(ctx context.Context, s Session) (bool, error) {
	if r.known == nil && !r.lasts(r.t, r.v.Slot.Record.Lease()) { // which only the slot has told
		r.v = nil
		return false, nil
	}
	if err := r.checkResumed(s); err != nil {
		return false, err
	}
	if r.suffices(ctx, s) {
		r.from, r.floored = r.g.NotBefore, false
		r.adopt(r.t, r.v, r.extent)
		return true, nil
	}
	change, from, grows := planRenewal(r.v, r.g, r.token, r.clamped(s, r.v.Meta.Record, r.until), r.now(), s.Holds(r.v))
	r.from, r.floored = from, !grows
	answered := r.extent.Asks(change.Slot.NotAfter)
	out, unsound, err := r.commit(ctx, s, change, r.known)
	answered(err != nil || out.Done || out.Repeated)
	switch {
	case err != nil:
		r.doubtful(r.t)
		return r.resolve(ctx, s, change, err)
	case !out.Done:
		return false, r.again(out)
	case unsound:
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
func (r *renewal) resolve(ctx context.Context, s Session, change Change, cause error) (bool, error) {
	if err := r.lookAgain(ctx, s); err != nil {
		return false, unclear(cause, err)
	}
	if !r.detector.sound(r.v.losses) {
		return false, nil
	}
	switch fateOf(change, r.v, s.Holds(r.v)) {
	case fateDone:
		r.adopt(r.t, r.v, r.extent)
		return true, nil
	case fateUndone:
		return false, cause // trying again is up to the caller
	}
	return false, nil
}
