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
	known   *View         // that came with the grant, or was seen since; nil: none
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
	if h.known == nil { // the grant has come without its handle
		h.known = c.viewOf(h.t, g)
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
	if !h.detector.sound(h.v.losses) {
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
	if h.v, err = h.look(ctx, s, h.g.WorkerID, h.g.Token, h.known); err != nil && h.attempt != nil {
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
