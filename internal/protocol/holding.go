package protocol

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/remainder"
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
	extent  *extent       // of the grant; nil: not known
	unseen  bool          // it has come without a view, and no survey was made since
	v       *View         // what is stored, as far as is known; nil: look
	took    time.Duration // to look; 0: there was no need to
	attempt error         // of a release that may have been done
	refused refusals
}

// newHolding enters the tenant of a token for what is to be done with a grant.
func (c *Coordinator) newHolding(ctx context.Context, g coord.Grant,
	token string,
) (*holding, error) {
	h := &holding{Coordinator: c, g: g, refused: refusals{}}
	v, sure := c.viewOf(g)
	h.known, h.unseen = v, v == nil && g.Token != ""
	if sure {
		h.v = v
	}
	if v != nil {
		h.extent = v.extent
	} else if err := c.operate(func(s Session) (err error) { // the slot tells how long its lease lasts
		v, err = c.look(ctx, s, g.WorkerID, "", nil)
		return err
	}); err != nil {
		return nil, err
	}
	var err error
	//mutant:asked-ttl
	h.t, err = c.enter(token, cmp.Or(v.Slot.Record.Lease(), c.usualTTL()), visitRoom)
	return h, err
}

// grant returns the last stored piece as a grant.
func (v *View) grant() coord.Grant { return v.Slot.Record.Grant(v) }

// outlived reports whether a call has failed because its session has ended, for a reason that
// another one need not have.
func outlived(ctx context.Context, s Session, err error) bool {
	why := s.Over()
	return err != nil && ctx.Err() == nil && why != nil && !coord.Permanent(why) &&
		!coord.Permanent(err)
}

// keep makes turns until one is done, in which the grant is held as far as is known.
func (h *holding) keep(ctx context.Context,
	turn func(context.Context) (done bool, err error),
) error {
	var last error
	for n := range turns {
		if err := h.pause(ctx, n-1); err != nil {
			return err
		}
		done, err := h.once(ctx, turn)
		switch {
		case done || errors.Is(err, coord.ErrLeaseLost):
			return err
		case outlived(ctx, h.s, err):
			h.v, last = nil, err // the next turn has another session
		case err != nil:
			return err
		}
	}
	if last != nil {
		return fmt.Errorf("%w (%w)", errBusy, last)
	}
	return errBusy
}

// once makes one turn.
func (h *holding) once(ctx context.Context,
	turn func(context.Context) (done bool, err error),
) (bool, error) {
	h.mu.Lock()
	err := h.reopen(h.t)
	h.s = h.t.session
	h.mu.Unlock()
	if err != nil {
		return false, err
	}
	//mutant:alone
	if h.unseen { // it may be another back end in which it was made, which a survey tells for certain
		if _, err := h.survey(ctx, h.s,
			Ask{Token: h.g.Token, Share: coord.Range{First: h.g.WorkerID, Count: 1}}); err != nil {
			//mutant:unrecorded
			if errors.Is(err, ErrUnrecorded) { // an acquisition makes it again, and this does not
				//nolint:errorlint // it is not invalid any more
				err = fmt.Errorf("%w: %v", coord.ErrLeaseLost, err)
			}
			return false, err
		}
		h.unseen = false
	}
	// A new session has to learn the time.
	if h.v == nil || h.set.ServerClock && h.s.Time() == (Span{}) {
		if err := h.lookAgain(ctx); err != nil {
			return false, err
		}
	}
	switch slot := h.v.Slot.Record; {
	case h.attempt != nil && h.v.released(h.g):
		return true, nil
	case !h.detector.sound(h.v.losses): //mutant:view-before-a-loss
		h.v = nil
		return false, h.raiseIfLost(ctx, h.s, 0)
	case h.v.holds(h.g) && h.known == nil && slot.NotAfter < h.g.NotAfter: // the grant knows better
		slot.NotAfter = h.g.NotAfter
		h.known = &View{Slot: Entry[Slot]{Record: slot, Made: MadeUnknown}, losses: h.v.losses}
		h.v = nil
		return false, nil
	case h.v.holds(h.g) && h.extent.copied(h.g, slot):
		return false, fmt.Errorf("%w: somebody else has extended its window to tick %d: there is a copy "+
			"of this process, or of its memory; the grant was %v", coord.ErrLeaseLost, slot.NotAfter, h.g)
	case h.v.holds(h.g):
		return turn(ctx)
	case h.next.Token != "" && h.v.holds(h.next):
		h.g, h.known, h.extent, h.v = h.next, nil, nil, nil // an earlier attempt has come through
		return false, nil
	default:
		return false, h.lost()
	}
}

// lost is the error of a grant that the slot does not name. A back end that forgets grants
// nothing between a loss of writes and the floor of that loss. So where the loss took the grant
// from the slot, the ticks of its windows below the floor stay the holder's, except those that
// the slot still covers: they may be another holder's from before.
//
// The slot was read together with the namespace's record, or after it: nothing is granted below
// the floor later.
func (h *holding) lost() error {
	meta, slot := h.v.Meta.Record, h.v.Slot.Record
	err := slot.Lost(h.g)
	switch {
	case !h.set.Forgets: //mutant:remainder-forgets
		return err
	case h.known == nil || h.known.losses == h.v.losses: //mutant:remainder-no-loss
		return err
	case slot.Generation >= h.g.Generation: //mutant:remainder-generation
		return err
	case slot.Retired: //mutant:remainder-retired
		return err
	case meta.Closed(): //mutant:remainder-closed
		return err
	}
	return &remainder.Error{After: slot.NotAfter, Until: meta.Floor, Lost: err}
}

// lookAgain reads what is stored.
func (h *holding) lookAgain(ctx context.Context) (err error) {
	began := lifetime.Now()
	if h.v, err = h.look(ctx, h.s, h.g.WorkerID, h.g.Token, h.known); err != nil && h.attempt != nil {
		err = unclear(h.attempt, err)
	}
	h.took = lifetime.Since(began)
	return err
}

// again takes note of what a change was refused for. The next turn looks, if that is not
// known. The error is that of something else that has changed what is stored.
func (h *holding) again(change Change, out Outcome) error {
	//mutant:look-refused
	h.v, h.took = out.Now, 0 // this was no look: what it shows need not be confirmed
	return h.refused.damage(change, out, -1)
}

// lose ends the tenant of a grant that is not held any more, unless it has another one.
func (h *holding) lose() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if v := h.t.view; v == nil || v.holds(h.g) {
		h.evict(h.t)
	}
}
