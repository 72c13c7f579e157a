package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

// Survey implements [protocol.Session]. What others have left half done is finished first.
func (s *session) Survey(ctx context.Context, ask protocol.Ask) (*protocol.Survey, error) {
	if err := s.barred("patch"); err != nil {
		return nil, err // whoever makes a survey is about to write
	}
	crowded, made := s.again(), false
	for n := range tries {
		if err := lifetime.Pause(ctx, n); err != nil {
			return nil, err
		}
		a, err := s.list(ctx)
		if err != nil {
			return nil, err
		}
		s.turn.Store(a.turns.Add(1) - 1)
		if a.meta == nil {
			if len(a.slots) == 0 && ask.New == nil {
				return &protocol.Survey{Worker: -1, Last: -1, Server: a.now, Unit: 2 * half}, nil
			}
			if a, err = s.make(ctx, a, ask); err != nil {
				return nil, err
			}
			made = made || a != nil
		}
		if a, err = s.ready(ctx, a, ask); err != nil {
			return nil, err
		}
		if a == nil {
			continue // others have changed something
		}
		sv, err := s.surveyOf(a, ask, crowded)
		if err != nil {
			return nil, err
		}
		sv.Made = made
		s.relist(a)
		return sv, nil
	}
	return nil, errStill
}

// ready does what has to be done before a list tells what a survey wants to know. It returns what is
// stored then; nil: it is to be listed again.
func (s *session) ready(ctx context.Context, a *all, ask protocol.Ask) (_ *all, err error) {
	if a == nil || a.meta.damage != nil {
		return a, a.damage()
	}
	if !a.settled() && a.missing() == "" {
		if a, err = s.settle(ctx, a); a == nil || err != nil {
			return nil, err
		}
	}
	// Whoever was granted a worker ID may not have come to mark it.
	if id := s.leads(a, ask.Token); id >= 0 && a.mark(id) == "" && a.missing() == "" {
		if sound, err := s.mark(ctx, a.used[id/perMarks], id, a.slots[id]); !sound || err != nil {
			return nil, err
		}
	}
	return a, nil
}

// make makes a namespace's record: that of a new one, or one that its slots tell of. Nil: somebody
// else has.
func (s *session) make(ctx context.Context, a *all, ask protocol.Ask) (*all, error) {
	if ask.New == nil {
		return nil, s.errNoNamespace()
	}
	meta := ask.New(a.now + half)
	if len(a.slots)+a.marked() > 0 {
		base := a.most(func(o *object) int64 { return o.Base })
		meta = ask.Again(a.now+half, a.most(func(o *object) int64 { return max(o.Floor, o.Base) }))
		meta.Base = max(meta.Base, base)
	}
	record, err := protocol.Encode(meta)
	if err != nil {
		return nil, err
	}
	c := (&object{}).next()
	c.Writes, c.Record = a.newest()+1, []byte(record)
	o, err := s.create(ctx, -1, c, nil)
	if o == nil || err != nil {
		return nil, err
	}
	return &all{meta: o, slots: a.slots, used: a.used, now: a.now, base: a.base}, nil
}

// crowd is how often somebody else is faster before it is time to list again, and to make more
// slots.
const crowd = 2

// again begins a survey. It reports whether many others are doing the same.
func (s *session) again() (crowded bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	crowded = s.beaten >= crowd
	s.listed, s.beaten = nil, 0
	return crowded
}

// relist notes what a survey has listed.
func (s *session) relist(a *all) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listed, s.used = a, false
}

// beat takes note that somebody else was faster, and reports whether to list again.
func (s *session) beat() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beaten++
	return s.beaten >= crowd
}

// surveyOf reads a list.
func (s *session) surveyOf(a *all, ask protocol.Ask, crowded bool) (*protocol.Survey, error) {
	sv := &protocol.Survey{Worker: -1, Last: -1, Slots: len(a.slots), Server: a.now, Unit: 2 * half, Origin: a.missing()}
	var err error
	if sv.Meta, err = entry[protocol.Meta](a.meta); err != nil {
		return nil, err
	}
	if a.newest() > a.meta.Writes { // slots know what the record has forgotten
		meta := &sv.Meta.Record
		meta.Base = max(meta.Base, a.most(func(o *object) int64 { return o.Base }))
		meta.Floor = max(meta.Floor, meta.Base, a.most(func(o *object) int64 { return o.Floor }))
	}
	if end := ask.Share.First + ask.Share.Count; ask.New != nil && min(end, sv.Meta.Record.Capacity) > MaxCapacity {
		return nil, fmt.Errorf("%w: the share of worker IDs ends at %d; this driver makes an object for each, and at most %d: choose a layout with fewer, or a share below it",
			coord.ErrInvalid, end, MaxCapacity)
	}
	for _, id := range a.ids() {
		if n := id - ask.Share.First; ask.Share.Count > 0 && (n < 0 || n >= ask.Share.Count) {
			continue
		}
		switch o := a.slots[id]; {
		case !s.owned(o, a.now):
			continue
		case o.Ends == forever:
			sv.Retired++
		default:
			sv.Holders = append(sv.Holders, protocol.Holder{Worker: id, Changed: o.Ends, Lease: o})
		}
		sv.Owned = append(sv.Owned, id)
	}
	s.choose(a, sv, ask.Share, crowded)
	s.findLast(a, sv, ask.Identity)
	sv.Worker = s.leads(a, ask.Token)
	return sv, nil
}

// choose says which worker IDs of a share to look at: those that have an object, as long as there
// are enough of them, and otherwise any. Those of this process that choose by the same list begin at
// different ones.
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
	turn := s.turn.Load()
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
	if identity == "" {
		return
	}
	quoted, err := json.Marshal(identity)
	if err != nil {
		return
	}
	since := int64(0)
	for id, o := range a.slots {
		if !bytes.Contains(o.Record, quoted) {
			continue
		}
		e, err := slotEntry(o, id)
		if err == nil && e.There() && e.Record.Identity == identity && e.Record.Since >= since {
			sv.Last, sv.LastSlot, since = id, e, e.Record.Since
		}
	}
}

// leads returns the worker ID that a token holds; -1: none. It may seem to hold two, when a
// grant was done that its holder had given up: the one that this process knows of counts.
func (s *store) leads(a *all, token string) int {
	if token == "" {
		return -1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.held[token]
	found := -1
	for _, id := range a.ids() {
		if o := a.slots[id]; o.damage == nil && o.Token == token && s.owned(o, a.now) && (found < 0 || ok && id == known) {
			found = id
		}
	}
	if found < 0 {
		delete(s.held, token)
	}
	return found
}

// leadsTo returns the worker ID that this process knows a token to hold; -1: none.
func (s *store) leadsTo(token string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id, ok := s.held[token]; ok {
		return id
	}
	return -1
}
