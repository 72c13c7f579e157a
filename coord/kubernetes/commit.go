package kubernetes

import (
	"context"
	"net/http"

	"github.com/unalike-id/unalike/internal/invalid"
	"github.com/unalike-id/unalike/internal/protocol"
)

// Commit implements [protocol.Session]. A change of a worker ID is one write of its object, which
// has to be as it was read. What is granted or extended by it counts only after the namespace's
// record was read again: whoever raises the floor changes that alone.
func (s *session) Commit(
	ctx context.Context, change protocol.Change,
) (out protocol.Outcome, err error) {
	worker := change.Worker()
	switch {
	case worker < 0:
		return s.commitMeta(ctx, change)
	case worker >= MaxCapacity:
		return out, invalid.Errorf("worker ID %d; this driver makes an object for each, and has 0 to "+
			"%d: choose a layout with fewer, or a share below it", worker, MaxCapacity-1)
	case !change.Before.Meta.There():
		return out, nil
	}
	var a *all
	if change.Owner == protocol.OwnerTaken && change.Token != change.Replaced {
		if a, err = s.seen(ctx); err != nil {
			return out, err
		}
		if leads := s.leads(a, change.Token); leads >= 0 && leads != worker {
			return out, nil
		}
	}
	out, err = s.commitSlot(ctx, change, a)
	if out.Done || err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.listed = nil
	}
	return out, err
}

// grants reports whether a change grants a worker ID anew.
func grants(change protocol.Change) bool {
	return change.Owner == protocol.OwnerTaken && change.Replaced == ""
}

// contentOf is what an object is to have.
func (s *session) contentOf(change protocol.Change, before *object) (c content, err error) {
	slot, meta := change.Before.Slot.Record, change.Before.Meta
	c = before.next()
	c.Seen, c.Floor, c.Base = max(c.Seen, meta.Version), meta.Record.Floor, meta.Record.Base
	if change.Slot != nil {
		slot = *change.Slot
		c, err = holding(c, slot)
	}
	ends := s.Time().High + slot.Lease().Microseconds() // never before the TTL is over
	switch change.Owner {
	case protocol.OwnerTaken:
		c.Token, c.Ends = change.Token, ends
	case protocol.OwnerFreed:
		c.Token, c.Ends = "", 0
	case protocol.OwnerForever:
		c.Token, c.Ends = "", forever
	case protocol.OwnerStays:
		if change.Before.Owned && change.Slot != nil {
			c.Ends = ends
		}
	}
	c.see = c.shown(slot)
	return c, err
}

// commitSlot writes a slot, or makes it, with its mark. What was listed, if it is not nil, may tell
// that there is one.
func (s *session) commitSlot(
	ctx context.Context, change protocol.Change, a *all,
) (out protocol.Outcome, _ error) {
	worker, now := change.Worker(), s.Time().Low
	before := s.fromRaw(worker, change.Before.Slot.Raw)
	switch {
	case before.damage != nil:
		return out, before.damage
	case grants(change) && before.Token != change.Token && s.owned(before, now): //mutant:held-slot
		out.Conflict = protocol.ConflictSlot // somebody was faster
		return out, nil
	case change.Owner == protocol.OwnerStays && change.Before.Owned && s.over(before.Ends, now):
		out.Conflict = protocol.ConflictSlot
		return out, nil
	}
	c, err := s.contentOf(change, before)
	if err != nil {
		return out, err
	}
	o, done, err := s.write(ctx, before, c)
	switch {
	case before.uid == "" && codeOf(err) == http.StatusForbidden:
		return out, nil // the next survey says which worker IDs can be had all the same
	case err != nil:
		return out, err
	case !done:
		return s.refused(change), nil
	}
	if (grants(change) || change.Owner == protocol.OwnerForever) &&
		(a == nil || a.marksOf(worker).marked(worker) != o.uid) {
		if sound, err := s.mark(ctx, worker, o); !sound || err != nil {
			return out, err // which the next survey looks into
		}
	}
	return s.outcome(ctx, change, o)
}

// outcome is that of a slot that was written. Whoever may use more of a window than before reads
// the namespace's record first.
func (s *session) outcome(
	ctx context.Context, change protocol.Change, o *object,
) (out protocol.Outcome, err error) {
	out = protocol.Outcome{Done: true, Now: &protocol.View{Meta: change.Before.Meta, Kept: true}}
	if change.Owner == protocol.OwnerTaken || change.Owner == protocol.OwnerStays {
		meta, err := s.get(ctx, s.objectName(-1))
		if err != nil {
			return out, err
		}
		out.Now = &protocol.View{Origin: meta.lost(o.Seen)}
		if out.Now.Meta, err = entry[protocol.Meta](meta); err != nil {
			return out, err
		}
		out.Lapsed = out.Now.Meta.Record != change.Before.Meta.Record
	}
	out.Now.Owned, out.Now.Lease = o.Ends == forever || o.Token != "", o
	out.Now.Slot, err = slotEntry(o, change.Worker())
	return out, err
}

// refused is the outcome of a change of a slot that is another one by now. Whoever has met with
// that twice since it has listed them lists them again.
func (s *session) refused(change protocol.Change) (out protocol.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if grants(change) {
		s.beaten++
	}
	if s.beaten < crowd {
		out.Conflict = protocol.ConflictSlot
	}
	return out
}

// commitMeta changes the namespace's record. After one that settles a loss the marks are made as
// the slots were when it was written; if that fails, the next survey does it.
func (s *session) commitMeta(
	ctx context.Context, change protocol.Change,
) (out protocol.Outcome, _ error) {
	before := s.fromRaw(-1, change.Before.Meta.Raw)
	if before.uid == "" || before.damage != nil { // the namespace was not there
		return out, before.damage
	}
	a, err := s.list(ctx)
	if err != nil || change.Unused && len(a.slots) > 0 {
		return out, err
	}
	c, err := holding(before.next(), *change.Meta)
	if err != nil {
		return out, err
	}
	if change.NoteLineage && !change.Unused { // it explains what is missing, and what slots have seen
		c.UID, c.Writes = "", max(c.Writes, a.newest()+1)
	}
	meta, done, err := s.write(ctx, before, c)
	if err != nil || !done {
		return out, err
	}
	//mutant:settle-at-once
	if c.UID == "" { // else whatever is lost until the next survey is taken for explained, too
		if now, err := s.finishMarks(ctx, meta, a); now != nil && err == nil {
			meta = now
		}
	}
	out = protocol.Outcome{Done: true, Now: &protocol.View{}}
	if change.Meta.Closed() {
		err = s.touch(ctx, *change.Meta, meta.Writes)
	}
	if err == nil {
		out.Now.Meta, err = entry[protocol.Meta](meta)
	}
	return out, err
}

// touch lets all slots say that the namespace is closed, since a write of its record: it stays
// closed if the record is lost then.
func (s *store) touch(ctx context.Context, closed protocol.Meta, seen int64) error {
	a, err := s.list(ctx)
	if err != nil {
		return err
	}
	for _, id := range a.ids() {
		o := a.slots[id]
		if o.damage != nil || o.Floor >= closed.Floor {
			continue
		}
		c := o.next()
		c.Seen, c.Floor, c.Base = seen, closed.Floor, closed.Base
		// Who has written it since finds the record closed.
		if _, _, err := s.write(ctx, o, c); err != nil {
			return err
		}
	}
	return nil
}
