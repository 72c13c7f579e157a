package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

// Commit implements [protocol.Session]. A change of a worker ID is one write of its object, which
// has to be as it was read. What is granted or extended by it counts only after the namespace's
// record was read again: whoever raises the floor changes that alone.
func (s *session) Commit(
	ctx context.Context, change protocol.Change,
) (out protocol.Outcome, _ error) {
	worker := change.Worker()
	switch {
	case change.Meta != nil && worker >= 0:
		return out, errors.New("a change is about a worker ID, or about the namespace")
	case change.Meta != nil:
		return s.commitMeta(ctx, change)
	case worker >= MaxCapacity:
		return out, fmt.Errorf("%w: worker ID %d; this driver makes an object for each, and has 0 to %d",
			coord.ErrInvalid, worker, MaxCapacity-1)
	case !change.Before.Meta.There():
		return out, nil
	}
	s.mu.Lock()
	a, leads := s.listed, s.worker
	s.listed = nil
	s.mu.Unlock()
	if change.Owner == protocol.OwnerTaken && change.Token != change.Replaced {
		if change.Replaced != "" { // no survey was made for it
			now, err := s.list(ctx)
			if err != nil {
				return out, err
			}
			leads = s.leads(now, change.Token)
		}
		if leads >= 0 && leads != worker {
			return out, nil
		}
	}
	return s.commitSlot(ctx, change, s.fromRaw(worker, change.Before.Slot.Raw), a)
}

// grants reports whether a change grants a worker ID anew.
func grants(change protocol.Change) bool {
	return change.Owner == protocol.OwnerTaken && change.Replaced == ""
}

// contentOf is what an object is to have.
func (s *session) contentOf(change protocol.Change, before *object) (c content, _ *spec, _ error) {
	slot, meta := change.Before.Slot.Record, change.Before.Meta
	c = before.next()
	c.Seen, c.Floor, c.Base = max(c.Seen, meta.Version), meta.Record.Floor, meta.Record.Base
	if change.Slot != nil {
		slot = *change.Slot
		record, err := protocol.Encode(slot)
		if err != nil {
			return c, nil, err
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
	return c, c.shown(slot), nil
}

// commitSlot writes a slot, or makes it, with its mark.
func (s *session) commitSlot(
	ctx context.Context, change protocol.Change, before *object, a *all,
) (out protocol.Outcome, _ error) {
	worker, made := change.Worker(), before == nil
	if made {
		before = &object{name: s.objectName(worker)}
	}
	switch {
	case before.damage != nil:
		return out, before.damage
	case grants(change) && before.Token != change.Token && s.owned(before, s.Time()): //mutant:held-slot
		out.Conflict = protocol.ConflictSlot // somebody was faster
		return out, nil
	case change.Owner == protocol.OwnerStays && change.Before.Owned && s.over(before.Ends, s.Time()):
		out.Conflict = protocol.ConflictSlot
		return out, nil
	}
	c, see, err := s.contentOf(change, before)
	if err != nil {
		return out, err
	}
	o, err := s.write(ctx, before, c, see)
	switch {
	case made && codeOf(err) == http.StatusForbidden:
		return out, nil // the next survey says which worker IDs can be had all the same
	case err != nil:
		return out, err
	case o == nil:
		return s.refused(ctx, change, before)
	}
	sound := true
	switch {
	case made:
		sound, err = s.mark(ctx, worker, o)
	case grants(change) || change.Owner == protocol.OwnerForever:
		sound, err = s.marked(ctx, worker, o, a)
	}
	if !sound || err != nil {
		return out, err // which the next survey looks into
	}
	s.mu.Lock()
	if change.Owner == protocol.OwnerTaken {
		s.worker = worker
	}
	s.mu.Unlock()
	return s.outcome(ctx, change, o)
}

// outcome is that of a slot that was written. Whoever may use more of a window than before reads
// the namespace's record first.
func (s *session) outcome(
	ctx context.Context, change protocol.Change, o *object,
) (out protocol.Outcome, err error) {
	out = protocol.Outcome{Done: true, Now: &protocol.View{Meta: change.Before.Meta, Kept: true}}
	if change.Owner == protocol.OwnerTaken || change.Owner == protocol.OwnerStays {
		meta, _, err := s.get(ctx, s.objectName(-1))
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

// refused tells why a slot was not written. What is stored is not reported.
func (s *session) refused(
	ctx context.Context, change protocol.Change, before *object,
) (out protocol.Outcome, _ error) {
	beaten := 0
	if grants(change) {
		s.mu.Lock()
		s.beaten++
		beaten = s.beaten
		s.mu.Unlock()
	}
	if before.uid == "" {
		if grants(change) && beaten < crowd {
			out.Conflict = protocol.ConflictSlot
		}
		return out, nil
	}
	o, _, err := s.get(ctx, before.name)
	switch {
	case err != nil || o == nil || o.damage != nil || o.uid != before.uid:
	case grants(change) && o.Writes < before.Writes:
		err = oldCache(before, o)
	case o.text == before.text:
		err = fmt.Errorf("the API server has refused a change of Lease %s, though the Lease is as "+
			"the change said", before.name)
	case beaten < crowd:
		out.Conflict = protocol.ConflictSlot
	}
	return out, err
}

// oldCache is the error of an API server that lists what its store has forgotten.
func oldCache(listed, stored *object) error {
	return fmt.Errorf("the API server lists Lease %s as it was after write %d, and in its store the "+
		"last is %d: etcd was put back to an older state, and the cache of the API server is of before, "+
		"or the other way round; start all API servers again", listed.name, listed.Writes, stored.Writes)
}

// checkCache looks why the namespace's record, which was listed, was not written. The error is that
// of lists which do not show what is stored: API servers answer them from a cache.
func (s *store) checkCache(ctx context.Context, listed *object) error {
	o, _, err := s.get(ctx, listed.name)
	if err == nil && o != nil && o.damage == nil && o.uid == listed.uid && o.Writes < listed.Writes {
		return oldCache(listed, o)
	}
	return err
}

// commitMeta changes the namespace's record. After one that settles a loss the marks are made as the
// slots were when it was written; if that fails, the next survey does it.
func (s *session) commitMeta(
	ctx context.Context, change protocol.Change,
) (out protocol.Outcome, _ error) {
	before := s.fromRaw(-1, change.Before.Meta.Raw)
	switch {
	case before == nil: // the namespace was not there
		return out, nil
	case before.damage != nil:
		return out, before.damage
	}
	a, err := s.list(ctx)
	if err != nil || change.Unused && len(a.slots) > 0 {
		return out, err
	}
	record, err := protocol.Encode(*change.Meta)
	if err != nil {
		return out, err
	}
	c := before.next()
	c.Record = []byte(record)
	if change.Settle && !change.Unused { // it explains what is missing, and what slots have seen
		c.UID, c.Writes = "", max(c.Writes, a.newest()+1)
	}
	done, err := s.write(ctx, before, c, nil)
	if err == nil && done == nil {
		err = s.checkCache(ctx, before)
	}
	if err != nil || done == nil {
		return out, err
	}
	//mutant:settle-at-once
	if c.UID == "" { // else whatever is lost until the next survey is taken for explained, too
		settled := &all{slots: a.slots, marks: a.marks}
		settled.setMeta(done)
		if now, err := s.settle(ctx, settled); now != nil && err == nil {
			done = now
		}
	}
	out = protocol.Outcome{Done: true, Now: &protocol.View{}}
	if change.Meta.Closed() {
		err = s.touch(ctx, done)
	}
	if err == nil {
		out.Now.Meta, err = entry[protocol.Meta](done)
	}
	return out, err
}

// atOnce is how many requests are made at the same time.
const atOnce = 16

// touch lets all slots say that the namespace is closed: it stays closed if its record is lost
// then.
func (s *store) touch(ctx context.Context, meta *object) error {
	closed, err := entry[protocol.Meta](meta)
	if err != nil {
		return err
	}
	a, err := s.list(ctx)
	if err != nil {
		return err
	}
	errs, places := make([]error, len(a.slots)), make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, id := range a.ids() {
		o := a.slots[id]
		if o.damage != nil || o.Floor >= closed.Record.Floor {
			continue
		}
		places <- struct{}{}
		all.Go(func() {
			c := o.next()
			c.Seen, c.Floor, c.Base = meta.Writes, closed.Record.Floor, closed.Record.Base
			_, errs[i] = s.write(ctx, o, c, nil) // who has written it since finds the record closed
			<-places
		})
	}
	all.Wait()
	return cmp.Or(errs...)
}
