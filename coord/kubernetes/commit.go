package kubernetes

import (
	"context"
	"errors"
	"fmt"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

// Commit implements [protocol.Session]. A change of a worker ID is one write of its object,
// which has to be as it was read: no change of the namespace's record was complete between,
// because that writes every slot.
func (s *session) Commit(ctx context.Context, change protocol.Change) (protocol.Outcome, error) {
	worker := change.Worker()
	if change.Meta != nil {
		if worker >= 0 {
			return protocol.Outcome{}, errors.New("a change is about a worker ID, or about the namespace")
		}
		return s.commitMeta(ctx, change)
	}
	s.relist(nil)
	out := protocol.Outcome{Conflict: protocol.ConflictElsewhere}
	meta := fromRaw(s.metaName(), change.Before.Meta.Raw)
	if meta == nil {
		return out, nil
	}
	if meta.damage != nil {
		return out, meta.damage
	}
	if change.Owner == protocol.OwnerTaken && change.Token != change.Replaced {
		if elsewhere, err := s.holdsOther(ctx, change, worker); elsewhere || err != nil {
			return out, err
		}
	}
	before, err := s.before(ctx, change, meta, worker)
	if err != nil {
		return out, err
	}
	if before == nil || !change.Before.Slot.There() && len(before.Record) > 0 {
		out.Conflict = protocol.ConflictSlot
		return out, nil
	}
	if before.Change > meta.Change {
		return out, nil
	}
	if before.copied() {
		return out, nil // the next look finds that it was lost
	}
	if change.Owner == protocol.OwnerStays && change.Before.Owned && s.over(before.Ends, s.Time()) {
		out.Conflict = protocol.ConflictSlot
		return out, nil
	}
	return s.commitSlot(ctx, change, meta, before, worker)
}

// holdsOther reports whether a token that is to get a worker ID leads to another one.
func (s *session) holdsOther(ctx context.Context, change protocol.Change, worker int) (bool, error) {
	id := s.leadsTo(change.Token)
	if change.Replaced != "" { // no survey was made for it
		a, err := s.list(ctx)
		if err != nil {
			return false, err
		}
		id = s.leads(a, change.Token)
	}
	return id >= 0 && id != worker, nil
}

// before is the object of a worker ID as a change takes it to be; nil: it is another one. One
// that was never granted may not have been read, and need not be there. It is counted in any case,
// so that it is missed when it is lost.
func (s *session) before(ctx context.Context, change protocol.Change, meta *object, worker int) (*object, error) {
	if worker >= meta.Count {
		if counted, err := s.count(ctx, worker); err != nil || !counted {
			return nil, err
		}
	}
	o := fromRaw(s.slotName(worker), change.Before.Slot.Raw)
	if o == nil && !change.Before.Slot.There() {
		var err error
		if o, _, err = s.get(ctx, s.slotName(worker)); err != nil {
			return nil, err
		}
	}
	if o != nil && o.damage != nil {
		return nil, o.damage
	}
	return o, nil
}

// count makes a slot that the namespace's record does not count yet. It reports whether that counts it
// now.
func (s *session) count(ctx context.Context, worker int) (bool, error) {
	if worker >= MaxCapacity {
		return false, fmt.Errorf("%w: worker ID %d; this driver makes an object for each, and has 0 to %d", coord.ErrInvalid, worker, MaxCapacity-1)
	}
	a, err := s.list(ctx)
	switch {
	case err != nil || a.meta == nil || a.meta.damage != nil:
		return false, err
	case worker < a.meta.Count:
		return true, nil
	case a.missing() != "": // which the next survey finds
		return false, nil
	}
	return false, s.extend(ctx, a, worker+1)
}

// commitSlot writes a slot.
func (s *session) commitSlot(ctx context.Context, change protocol.Change, meta, before *object, worker int) (out protocol.Outcome, _ error) {
	c, slot := before.next(), change.Before.Slot.Record
	if before.Change < meta.Change { // it has the last change with this write
		e, err := entry[protocol.Meta](meta)
		if err != nil {
			return out, err
		}
		c.Change, c.Floor = meta.Change, e.Record.Floor
	}
	if change.Slot != nil {
		slot = *change.Slot
		record, err := protocol.Encode(slot)
		if err != nil {
			return out, err
		}
		c.Record = []byte(record)
	}
	ends := s.Time() + slot.Lease().Microseconds()
	switch {
	case change.Owner == protocol.OwnerTaken:
		c.Token, c.Ends = change.Token, ends
	case change.Owner == protocol.OwnerFreed:
		c.Token, c.Ends = "", 0
	case change.Owner == protocol.OwnerForever:
		c.Token, c.Ends = "", forever
	case change.Before.Owned && change.Slot != nil:
		c.Ends = ends
	}
	shown := c.shown(slot)
	done, err := s.write(ctx, before, c, &shown)
	if err != nil {
		if change.Owner == protocol.OwnerTaken && change.Replaced == "" {
			s.mu.Lock()
			s.pending[change.Token] = before
			s.mu.Unlock()
		}
		return out, err
	}
	if done == nil {
		if change.Owner == protocol.OwnerTaken && change.Replaced == "" && !s.beat() {
			out.Conflict = protocol.ConflictSlot // somebody was faster, most likely; the next one is refused, too, if it was something else
			return out, nil
		}
		out, err = s.refused(ctx, before, meta)
		if err == nil && change.Owner == protocol.OwnerTaken && change.Replaced == "" {
			out.Conflict = protocol.ConflictElsewhere // the list is too old
		}
		return out, err
	}
	s.led(change, worker)
	s.wrote(worker, done)
	out = protocol.Outcome{Done: true, Now: &protocol.View{Meta: change.Before.Meta, Kept: true, Owned: c.Ends == forever || c.Token != "", Lease: c.Ends}}
	out.Now.Slot, err = slotEntry(done, worker)
	return out, err
}

// led takes note of where a change makes tokens lead to.
func (s *store) led(change protocol.Change, worker int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch change.Owner {
	case protocol.OwnerTaken:
		delete(s.held, change.Replaced)
		s.held[change.Token] = worker
	case protocol.OwnerFreed:
		if s.held[change.Token] == worker {
			delete(s.held, change.Token)
		}
	}
}

// refused tells why a slot was not written. What is stored is not reported: what was not
// learned from the reply to a write is read anew, the slot first and the namespace after it.
func (s *session) refused(ctx context.Context, before, meta *object) (out protocol.Outcome, _ error) {
	o, _, err := s.get(ctx, before.name)
	switch {
	case err != nil:
		return out, err
	case o != nil && o.damage == nil && o.Change == meta.Change && o.uid == before.uid:
		if o.text == before.text {
			return out, fmt.Errorf("the API server has refused a change of Lease %s, though the Lease is as the change said", before.name)
		}
		out.Conflict = protocol.ConflictSlot
	}
	return out, nil
}
