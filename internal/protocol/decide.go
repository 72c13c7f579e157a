package protocol

import (
	"fmt"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/invalid"
)

// What a call does is decided here, from what is stored and what was asked for. Nothing
// in this file reads, writes, waits or looks at a clock; windows and floors are worked out
// in slot.go, candidate.go and floor.go, and losses noticed in loss.go.

// planRenewal returns the change that renews a grant until a tick, by rules 6 and 7 of
// package coord, and NotBefore of the result. If grows is false, the window cannot grow:
// the lease is kept, and nothing is added to it. Mine says that the owner mark is on the
// lease of the caller's session.
//
// Another token than the grant's resumes it: the token and the next generation are stored
// with the same step, so that whoever had the grant has lost it.
func planRenewal(v *View, g coord.Grant, token string, until, now int64,
	mine bool,
) (_ Change, from int64, grows bool) {
	slot, from, grows := v.Slot.Record.Extended(g, v.Meta.Record.Floor, until, now)
	change := Change{Before: v, Slot: &slot, Token: token}
	if token != g.Token {
		slot = slot.Resumed(token)
		mine = false
	}
	if !mine {
		change.Owner, change.Replaced = OwnerTaken, g.Token
	}
	return change, from, grows
}

// planRelease returns the change that gives a grant back, by rule 9.
func planRelease(v *View, g coord.Grant, last int64) Change {
	slot := v.Slot.Record.Trimmed(g, last)
	return Change{Before: v, Slot: &slot, Owner: OwnerFreed, Token: g.Token}
}

// planRetire returns the change that retires a worker ID. Nothing is to be done if already
// is true.
func planRetire(v *View, worker int, now int64) (_ Change, already bool, _ error) {
	meta, slot := v.Meta.Record, v.Slot.Record
	switch {
	case !v.Meta.There():
		return Change{}, false, errNoNamespace
	case worker >= meta.Capacity:
		return Change{}, false, invalid.Errorf("worker ID %d; the layout has worker IDs 0 to %d", worker,
			meta.Capacity-1)
	case slot.Retired && v.Owned:
		return Change{}, true, nil
	}
	change := Change{Before: v, Owner: OwnerForever}
	if !slot.Retired { // otherwise its owner mark is gone, and is written again
		slot = slot.Withdrawn(meta, worker, now)
		change.Slot = &slot
	}
	return change, false, nil
}

// refusals are what changes took to be stored that were refused in one call. As everybody who
// comes between changes that, none is refused twice.
type refusals map[string]bool

// damage returns the error of a change that was refused before for the same: something else has
// changed what belongs to it. Last is the worker ID that the identity of a new grant had last.
func (r refusals) damage(c Change, out Outcome, last int) error {
	if out.Damage == nil {
		return nil
	}
	this := fmt.Sprint(c.Before.Meta.Version, last)
	if slot := c.Before.Slot; out.Conflict == ConflictSlot {
		this = fmt.Sprint("slot", this, c.Worker(), slot.Made, slot.Version)
	}
	if r[this] {
		return out.Damage
	}
	r[this] = true
	return nil
}

// holds reports whether a grant is that of the slot.
func (v *View) holds(g coord.Grant) bool {
	return v.Slot.There() && v.Slot.Record.Worker == g.WorkerID &&
		v.Slot.Record.Holds(g.Token, g.Generation)
}

// released reports whether a grant was released: nobody but its holder can have done so.
func (v *View) released(g coord.Grant) bool {
	slot := v.Slot.Record
	return slot.Token == "" && slot.Generation == g.Generation && !slot.Retired
}

// same reports whether two views are of the same state.
func (v *View) same(w *View) bool {
	return v.Meta.Version == w.Meta.Version && v.Slot.Version == w.Slot.Version &&
		v.Slot.Record == w.Slot.Record && v.Owned == w.Owned
}
