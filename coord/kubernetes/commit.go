package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

// Commit implements [protocol.Session]. A change of a worker ID is one write of its object, which
// has to be as it was read. What is granted or extended by it counts only after the namespace's
// record was read again: whoever raises the floor changes that alone.
func (s *session) Commit(ctx context.Context, change protocol.Change) (protocol.Outcome, error) {
	worker := change.Worker()
	if change.Meta != nil {
		if worker >= 0 {
			return protocol.Outcome{}, errors.New("a change is about a worker ID, or about the namespace")
		}
		return s.commitMeta(ctx, change)
	}
	out := protocol.Outcome{Conflict: protocol.ConflictElsewhere}
	a := s.use()
	if !change.Before.Meta.There() {
		return out, nil
	}
	if worker >= MaxCapacity {
		return out, fmt.Errorf("%w: worker ID %d; this driver makes an object for each, and has 0 to %d", coord.ErrInvalid, worker, MaxCapacity-1)
	}
	if change.Owner == protocol.OwnerTaken && change.Token != change.Replaced {
		if elsewhere, err := s.holdsOther(ctx, change, worker); elsewhere || err != nil {
			return out, err
		}
	}
	before := s.before(change, worker, a)
	switch {
	case before != nil && before.damage != nil:
		return out, before.damage
	case before != nil && change.Owner == protocol.OwnerStays && change.Before.Owned && s.over(before.Ends, s.Time()):
		out.Conflict = protocol.ConflictSlot
		return out, nil
	}
	return s.commitSlot(ctx, change, before, a)
}

// grants reports whether a change grants a worker ID anew.
func grants(change protocol.Change) bool {
	return change.Owner == protocol.OwnerTaken && change.Replaced == ""
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

// before is the object of a worker ID as a change takes it to be; nil: there is none. What was
// listed tells its labels as well.
func (s *session) before(change protocol.Change, worker int, a *all) *object {
	o := s.fromRaw(worker, change.Before.Slot.Raw)
	if known, ok := change.Before.Lease.(*object); ok && known.is(o) {
		return known
	}
	if a != nil && o != nil && a.slots[worker].is(o) {
		return a.slots[worker]
	}
	return o
}

// contentOf is what an object is to have.
func (s *session) contentOf(change protocol.Change, before *object) (c content, slot protocol.Slot, err error) {
	c, slot = before.next(), change.Before.Slot.Record
	meta := change.Before.Meta
	c.Seen, c.Floor, c.Base = max(c.Seen, meta.Version), meta.Record.Floor, meta.Record.Base
	if change.Slot != nil {
		slot = *change.Slot
		record, err := protocol.Encode(slot)
		if err != nil {
			return c, slot, err
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
	return c, slot, nil
}

// commitSlot writes a slot, or makes it, with its mark.
func (s *session) commitSlot(ctx context.Context, change protocol.Change, before *object, a *all) (out protocol.Outcome, _ error) {
	worker, made := change.Worker(), before == nil
	if made {
		before = &object{name: s.objectName(worker)}
	}
	c, slot, err := s.contentOf(change, before)
	if err != nil {
		return out, err
	}
	shown := c.shown(slot)
	var o *object
	if made {
		o, err = s.create(ctx, worker, c, &shown)
	} else {
		o, err = s.write(ctx, before, c, &shown)
	}
	switch {
	case made && codeOf(err) == http.StatusForbidden:
		return out, nil // the next survey says which worker IDs can be had all the same
	case err != nil:
		return out, err
	case o == nil:
		return s.refused(ctx, change, before)
	}
	s.wrote(worker, o)
	if made || grants(change) || change.Owner == protocol.OwnerForever {
		if sound, err := s.marked(ctx, worker, o, a); !sound || err != nil {
			return out, err // which the next survey looks into
		}
	}
	s.led(change, worker)
	return s.outcome(ctx, change, o)
}

// outcome is that of a slot that was written. Whoever may use more of a window than before reads
// the namespace's record first.
func (s *session) outcome(ctx context.Context, change protocol.Change, o *object) (out protocol.Outcome, err error) {
	out = protocol.Outcome{Done: true, Now: &protocol.View{Meta: change.Before.Meta, Kept: true}}
	if change.Owner == protocol.OwnerTaken || change.Owner == protocol.OwnerStays {
		meta, _, err := s.get(ctx, s.objectName(-1))
		if err != nil {
			return out, err
		}
		out.Now = &protocol.View{Origin: lost(meta, o)}
		if out.Now.Meta, err = entry[protocol.Meta](meta); err != nil {
			return out, err
		}
		out.Lapsed = out.Now.Meta.Record != change.Before.Meta.Record
	}
	out.Now.Owned, out.Now.Lease = o.Ends == forever || o.Token != "", o
	out.Now.Slot, err = slotEntry(o, change.Worker())
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

// refused tells why a slot was not written. What is stored is not reported.
func (s *session) refused(ctx context.Context, change protocol.Change, before *object) (out protocol.Outcome, _ error) {
	if grants(change) && !s.beat() {
		out.Conflict = protocol.ConflictSlot // somebody was faster, most likely; the next one is refused, too, if it was something else
		return out, nil
	}
	o, _, err := s.get(ctx, before.name)
	switch {
	case err != nil:
		return out, err
	case before.uid == "" && o != nil:
		s.hide()
	case o == nil || o.damage != nil || o.uid != before.uid:
	case grants(change) && o.Writes < before.Writes:
		return out, oldCache(before, o)
	case o.text == before.text && len(relabel(o.labels, before.labels)) == 0:
		return out, fmt.Errorf("the API server has refused a change of Lease %s, though the Lease is as the change said", before.name)
	case !grants(change):
		out.Conflict = protocol.ConflictSlot
	}
	return out, nil
}

// oldCache is the error of an API server that lists what its store has forgotten.
func oldCache(listed, stored *object) error {
	return fmt.Errorf("the API server lists Lease %s as it was after write %d, and in its store the last is %d: etcd was put back to an older state, and the cache of the API server is of before, or the other way round; start all API servers again",
		listed.name, listed.Writes, stored.Writes)
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

// commitMeta changes the namespace's record.
func (s *session) commitMeta(ctx context.Context, change protocol.Change) (out protocol.Outcome, _ error) {
	before := s.fromRaw(-1, change.Before.Meta.Raw)
	if before == nil {
		return out, nil // the namespace was not there
	}
	if before.damage != nil {
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
	c.UID, c.Record = before.uid, []byte(record)
	if change.Settle && !change.Unused { // it explains what is missing, and what slots have seen
		c.Marks, c.Writes = nil, max(c.Writes, a.newest()+1)
	}
	done, err := s.write(ctx, before, c, nil)
	if err == nil && done == nil {
		err = s.checkCache(ctx, before)
	}
	if err != nil || done == nil {
		return out, err
	}
	if done, err = s.finish(ctx, done, change); done == nil || err != nil {
		return out, err
	}
	out = protocol.Outcome{Done: true, Now: &protocol.View{}}
	out.Now.Meta, err = entry[protocol.Meta](done)
	return out, err
}

// finish does what follows a change of the namespace's record, and returns the record then; nil: it
// was changed since.
func (s *session) finish(ctx context.Context, done *object, change protocol.Change) (*object, error) {
	for n := range tries {
		if err := lifetime.Pause(ctx, n); err != nil {
			return nil, err
		}
		a, err := s.list(ctx)
		switch {
		case err != nil:
			return nil, err
		case a.meta != nil && a.meta.uid == done.uid && a.meta.Writes < done.Writes && a.meta.damage == nil:
			return nil, oldCache(a.meta, done)
		case change.Unused && len(a.slots) > 0 || a.meta == nil || a.meta.damage != nil || string(a.meta.Record) != string(done.Record):
			return nil, nil //nolint:nilnil // the next survey tells
		case a.settled():
			if change.Meta.Closed() {
				err = s.touch(ctx, a)
			}
			return a.meta, err
		}
		if _, err := s.settle(ctx, a); err != nil {
			return nil, err
		}
	}
	return nil, errStill
}

// errStill says that what is stored does not come to rest.
var errStill = errors.New("what is stored in the cluster kept changing; try again")

// atOnce is how many requests are made at the same time.
const atOnce = 16

// touch lets all slots say that the namespace is closed: it stays closed if its record is lost then.
func (s *store) touch(ctx context.Context, a *all) error {
	meta, err := entry[protocol.Meta](a.meta)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	var failed error
	places := make(chan struct{}, atOnce)
	for _, o := range a.slots {
		if o.damage != nil || o.Floor >= meta.Record.Floor {
			continue
		}
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			c := o.next()
			c.Seen, c.Floor, c.Base = a.meta.Writes, meta.Record.Floor, meta.Record.Base
			if _, err := s.write(ctx, o, c, nil); err != nil { // who has written it since finds the record closed
				mu.Lock()
				defer mu.Unlock()
				failed = err
			}
		})
	}
	all.Wait()
	return failed
}

// barTime is for how long no write of a kind is made after one was refused.
const barTime = 10 * time.Second

// bar is why writes of a kind are refused, and since when.
type bar struct {
	err error
	at  time.Time // monotonic
}

// barred returns why a write of a kind cannot be made: a quota is used up, a right is gone, or
// something else refuses it. Nil: perhaps it can.
func (s *store) barred(verb string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.bars[verb]; b.err != nil && lifetime.Since(b.at) < barTime {
		return b.err
	}
	return nil
}

// change makes a request that writes, unless those like it are refused.
func (s *store) change(ctx context.Context, r request, out *lease) (now int64, err error) {
	if err := s.barred(r.verb); err != nil {
		return 0, err
	}
	now, err = s.call(ctx, r, out)
	if codeOf(err) == http.StatusForbidden {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.bars[r.verb] = bar{err, lifetime.Now()}
	}
	return now, err
}
