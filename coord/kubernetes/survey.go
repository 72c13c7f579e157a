package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

// errStill says that what is stored does not come to rest.
var errStill = errors.New("what is stored in the cluster kept changing; try again")

// crowd is how often somebody else is faster before it is time to list again, and to make more
// slots.
const crowd = 2

// mendAfter is how many looks whoever has made a record has until others do what is left.
const mendAfter = 4

// Survey implements [protocol.Session]. What others have left half done is finished first.
func (s *session) Survey(ctx context.Context, ask protocol.Ask) (*protocol.Survey, error) {
	if err := s.barred("patch"); err != nil {
		return nil, err // whoever makes a survey is about to write
	}
	s.mu.Lock()
	crowded := s.beaten >= crowd
	s.listed, s.beaten = nil, 0
	s.mu.Unlock()
	made := false
	for n := range tries {
		if err := lifetime.Pause(ctx, n); err != nil {
			return nil, err
		}
		a, err := s.list(ctx)
		switch {
		case err != nil:
			return nil, err
		case a.meta == nil && len(a.slots) == 0 && ask.New == nil:
			return &protocol.Survey{Worker: -1, Last: -1, Server: a.now, Unit: 2 * half}, nil
		}
		ready, now, err := s.prepare(ctx, a, ask, n)
		switch made = made || now; {
		case err != nil:
			return nil, err
		case ready:
			sv, err := s.surveyOf(a, ask, crowded)
			if err != nil {
				return nil, err
			}
			sv.Made = made
			return sv, nil
		}
	}
	return nil, errStill
}

// prepare reports whether a list tells what a survey wants to know, and if not does what is missing
// for that, which may be to make the namespace. One session of a process does it, and leaves
// whoever has begun the time to finish, of n looks.
func (s *session) prepare(
	ctx context.Context, a *all, ask protocol.Ask, n int,
) (ready, made bool, err error) {
	if a.meta != nil {
		switch {
		case a.damage != nil || a.missing() != "":
			return true, false, a.damage
		case a.meta.settled():
			ready, err = s.markOwn(ctx, a, ask.Token)
			return ready, false, err
		case n < mendAfter:
			return false, false, nil
		}
	}
	if a.mended.CompareAndSwap(false, true) {
		if a.meta != nil {
			_, err = s.settle(ctx, a)
		} else {
			made, err = s.make(ctx, a, ask)
		}
	}
	return false, made, err
}

// markOwn marks the worker ID that a token was granted, if whoever was granted it has not come to
// do that. It reports whether there was nothing to do.
func (s *session) markOwn(ctx context.Context, a *all, token string) (bool, error) {
	id := s.leads(a, token)
	if id < 0 || a.marksOf(id).mark(id) != "" {
		return true, nil
	}
	_, err := s.mark(ctx, id, a.slots[id])
	return false, err
}

// make makes a namespace's record: that of a new one, or one that its slots tell of. It reports
// whether it was made here.
func (s *session) make(ctx context.Context, a *all, ask protocol.Ask) (bool, error) {
	if ask.New == nil {
		return false, s.errNoNamespace()
	}
	meta := ask.New(a.now + half)
	if len(a.slots)+len(a.marks) > 0 {
		base := a.most(func(o *object) int64 { return o.Base })
		meta = ask.Again(a.now+half, a.most(func(o *object) int64 { return max(o.Floor, o.Base) }))
		meta.Base = max(meta.Base, base)
	}
	record, err := protocol.Encode(meta)
	if err != nil {
		return false, err
	}
	o := &object{name: s.objectName(-1)}
	c := o.next()
	c.Writes, c.Record = a.newest()+1, []byte(record)
	o, err = s.write(ctx, o, c, nil)
	if o == nil || err != nil {
		return false, err
	}
	made := &all{slots: a.slots, marks: a.marks}
	made.setMeta(o)
	_, err = s.settle(ctx, made)
	return true, err
}

// surveyOf reads a list.
func (s *session) surveyOf(a *all, ask protocol.Ask, crowded bool) (*protocol.Survey, error) {
	sv := &protocol.Survey{
		Meta: a.record, Worker: s.leads(a, ask.Token), Last: -1, Slots: len(a.slots), Server: a.now,
		Unit: 2 * half, Origin: a.missing(),
	}
	meta := &sv.Meta.Record
	if a.newest() > a.meta.Writes { // slots know what the record has forgotten
		meta.Base = max(meta.Base, a.most(func(o *object) int64 { return o.Base }))
		meta.Floor = max(meta.Floor, meta.Base, a.most(func(o *object) int64 { return o.Floor }))
	}
	end := ask.Share.First + ask.Share.Count
	if ask.New != nil && min(end, meta.Capacity) > MaxCapacity {
		return nil, fmt.Errorf("%w: the share of worker IDs ends at %d; this driver makes an object for "+
			"each, and at most %d: choose a layout with fewer, or a share below it",
			coord.ErrInvalid, end, MaxCapacity)
	}
	for _, id := range a.ids() {
		n := id - ask.Share.First
		in := ask.Share.Count == 0 || n >= 0 && n < ask.Share.Count
		if o := a.slots[id]; in && s.owned(o, a.now) {
			sv.Owned = append(sv.Owned, id)
			if o.Ends == forever {
				sv.Retired++
				continue
			}
			sv.Holders = append(sv.Holders, protocol.Holder{Worker: id, Changed: o.Ends, Lease: o})
		}
	}
	s.choose(a, sv, ask.Share, crowded)
	s.findLast(a, sv, ask.Identity)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listed = a
	return sv, nil
}

// choose says which worker IDs of a share to look at: those that have an object, as long as there
// are enough of them, and otherwise any. Those of this process that choose by the same list begin
// at different ones.
func (s *session) choose(a *all, sv *protocol.Survey, share coord.Range, crowded bool) {
	var made, other []int
	for id := share.First; id < min(share.First+share.Count, MaxCapacity); id++ {
		if _, owned := slices.BinarySearch(sv.Owned, id); owned {
			continue
		}
		if a.slots[id] != nil {
			made = append(made, id)
		} else {
			other = append(other, id)
		}
	}
	turn := a.turns.Add(1) - 1
	if sv.Why = s.barred("create"); sv.Why != nil {
		sv.Barred, other = other, nil
	}
	if crowded || turn >= int64(len(made)) {
		made = append(made, other...)
	}
	if len(made) > 0 {
		sv.Begin = int64(made[(a.base+turn)%int64(len(made))] - share.First + 1)
	}
}

// findLast finds the slot that an identity had last. Few are read for it.
func (s *session) findLast(a *all, sv *protocol.Survey, identity string) {
	quoted, err := json.Marshal(identity)
	if identity == "" || err != nil {
		return
	}
	for id, o := range a.slots {
		if !bytes.Contains(o.Record, quoted) {
			continue
		}
		e, err := slotEntry(o, id)
		if err == nil && e.Record.Identity == identity && e.Record.Since >= sv.LastSlot.Record.Since {
			sv.Last, sv.LastSlot = id, e
		}
	}
}

// leads returns the worker ID that a token holds; -1: none. It may seem to hold two, when a grant
// was done that its holder had given up: the one that this session knows of counts.
func (s *session) leads(a *all, token string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := -1
	for _, id := range a.ids() {
		o := a.slots[id]
		if token != "" && o.Token == token && s.owned(o, a.now) && (found < 0 || id == s.worker) {
			found = id
		}
	}
	if token == s.token && found < 0 {
		s.worker = -1
	}
	return found
}
