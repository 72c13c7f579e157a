package protocol

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
)

// turns is how often a renewal or release looks again after it found something changed.
// Only the holder changes its slot, so more than two are rare.
const turns = 5

// errBusy says that a call gave up because what it looked at kept changing.
var errBusy = errors.New("what is stored kept changing; try again")

// holding is one call that does something with a grant.
type holding struct {
	*Coordinator
	g       coord.Grant
	next    coord.Grant // that g becomes when it is resumed; its token is empty: it is not
	t       *tenant
	s       Session       // of the last turn
	known   *View         // that came with the grant; nil: none
	extent  *Extent       // of the grant; nil: not known
	v       *View         // what is stored, as far as is known; nil: look
	refused *View         // what a change was refused for that took it to be stored
	took    time.Duration // to look; 0: there was no need to
	attempt error         // of a release that may have been done
}

// hold enters the tenant of a token for what is to be done with a grant.
func (c *Coordinator) hold(g coord.Grant, token string) (*holding, error) {
	h := &holding{Coordinator: c, g: g, known: viewOf(g)}
	var ttl time.Duration
	if h.known != nil {
		ttl, h.extent = h.known.Slot.Record.Lease(), h.known.extent
	}
	var err error
	if h.t, err = c.enter(token, ttl, visitRoom); err != nil {
		return nil, err
	}
	h.v = c.newest(h.t, h.known)
	if h.v != nil && !h.v.holds(g) {
		h.v = nil
	}
	return h, nil
}

// grant returns the last stored piece as a grant.
func (v *View) grant() coord.Grant { return v.Slot.Record.Grant(v) }

// keep makes turns until one is done. What a turn gets is a session, and a view in which
// the grant is held.
func (h *holding) keep(ctx context.Context, turn func(context.Context, Session) (done bool, err error)) error {
	var last error
	for n := range turns {
		if err := h.pause(ctx, n-1); err != nil {
			return err
		}
		s, done, err := h.once(ctx, turn)
		h.s = s
		switch {
		case done || errors.Is(err, coord.ErrLeaseLost):
			return err
		case err != nil && (ctx.Err() != nil || s == nil || s.Over() == nil || coord.Permanent(s.Over())):
			return err
		case err != nil:
			h.v, last = nil, err // its session has ended; the next turn has another one
		}
	}
	if last != nil {
		return fmt.Errorf("%w (%w)", errBusy, last)
	}
	return errBusy
}

// once makes one turn.
func (h *holding) once(ctx context.Context, turn func(context.Context, Session) (done bool, err error)) (Session, bool, error) {
	h.mu.Lock()
	err := h.reopen(h.t)
	s := h.t.session
	h.mu.Unlock()
	if err != nil {
		return nil, false, err
	}
	if h.v == nil || h.set.ServerClock && s.Time() == 0 { // a new session has to learn the time
		if err := h.lookAgain(ctx, s); err != nil {
			return s, false, err
		}
	}
	if h.attempt != nil && h.v.released(h.g) {
		return s, true, nil
	}
	h.detector.compare(h.known, h.v)
	if !h.detector.sound(h.v.era) {
		h.v = nil
		return s, false, h.heal(ctx, s, 0)
	}
	switch {
	case h.v.holds(h.g) && h.v.Slot.Record.Copied(h.g, h.extent):
		return s, false, fmt.Errorf("%w; the grant was %v", &CopiedError{h.v.Slot.Record.NotAfter}, h.g)
	case h.v.holds(h.g):
	case h.next.Token != "" && h.v.holds(h.next):
		h.g, h.known, h.extent, h.v = h.next, nil, nil, nil // an earlier attempt has come through
		return s, false, nil
	default:
		return s, false, h.v.Slot.Record.Lost(h.g)
	}
	done, err := turn(ctx, s)
	return s, done, err
}

// lookAgain reads what is stored.
func (h *holding) lookAgain(ctx context.Context, s Session) (err error) {
	began := lifetime.Now()
	if h.v, err = h.look(ctx, s, h.g.WorkerID, h.g.Token); err != nil && h.attempt != nil {
		err = unclear(h.attempt, err)
	}
	h.took = lifetime.Since(began)
	return err
}

// again takes note of what a change was refused for. The next turn looks, if that is not
// known. The error is that of something else that has changed what is stored.
func (h *holding) again(out Outcome) error {
	if out.Damage != nil && h.refused != nil && h.refused.same(h.v) {
		return out.Damage
	}
	h.refused, h.v, h.took = h.v, out.Now, 0 // this was no look: what it shows need not be confirmed
	return nil
}

// lose ends the tenant of a grant that is not held any more, unless it has another one.
func (h *holding) lose() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if v := h.t.view; v == nil || v.Slot.Record.Generation == h.g.Generation && v.Slot.Record.Worker == h.g.WorkerID {
		h.evict(h.t)
	}
}

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
	r.lookAtFloor(ctx)
	if r.floored {
		return coord.Grant{}, r.v.Meta.Record.Quarantined(c.set.Namespace)
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
	change, from, grows := planRenewal(r.v, r.g, r.token, r.clamped(s), r.now(), s.Holds(r.v))
	r.from, r.floored = from, !grows
	answered := r.extent.Asks(change.Slot.NotAfter)
	out, unsound, err := r.commit(ctx, s, change)
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
	r.detector.compare(r.known, r.v)
	if !r.detector.sound(r.v.era) {
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

// lookAtFloor lowers the floor if it was raised too far, in half of the time that is left:
// the holder is to learn soon that its window was extended.
func (r *renewal) lookAtFloor(ctx context.Context) {
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, lifetime.Until(end)/2)
		defer cancel()
	}
	if r.floored {
		r.question(r.v)
	}
	if err := r.settleDoubt(ctx, r.s); err != nil {
		r.log.Warn("a floor that may be too high cannot be looked at", "namespace", r.set.Namespace, "error", err)
	}
}

// release gives a worker ID back, by rule 9, and ends the session of the grant. A change
// whose answer was lost is looked into, and made once more if it was not done.
func (c *Coordinator) release(ctx context.Context, g coord.Grant, last int64) error {
	h, err := c.hold(g, g.Token)
	if err != nil {
		return err
	}
	defer c.leave(h.t)
	err = h.keep(ctx, func(ctx context.Context, s Session) (bool, error) { return h.giveBack(ctx, s, last) })
	switch {
	case err == nil:
		c.unwatch(g)
		c.drop(h.t)
	case errors.Is(err, coord.ErrLeaseLost):
		c.unwatch(g)
		h.lose()
	default:
		// If it was not done, the worker ID may be free all the same when the session ends.
		c.drop(h.t)
	}
	return err
}

// giveBack makes the change of a release.
func (h *holding) giveBack(ctx context.Context, s Session, last int64) (bool, error) {
	out, _, err := h.commit(ctx, s, planRelease(h.v, h.g, last))
	switch {
	case err != nil && h.attempt != nil:
		return false, err
	case err != nil:
		h.doubtful(h.t)
		h.attempt, h.v = err, nil
		return false, nil //nolint:nilerr // the next turn looks what became of it
	case out.Done:
		return true, h.heal(ctx, s, 0)
	case out.Repeated:
		// It may have been done the first time.
		h.attempt, h.v = errRepeated, nil
		return false, nil
	}
	return false, h.again(out)
}

// errRepeated says that a change was sent more than once.
var errRepeated = errors.New("the change was sent more than once")
