package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

// Survey implements [protocol.Session]. What others have left half done is finished first.
func (s *session) Survey(ctx context.Context, ask protocol.Ask) (*protocol.Survey, error) {
	if err := s.settle(ctx, ask.Token); err != nil {
		return nil, err
	}
	crowded := s.again()
	made := false
	for {
		a, err := s.list(ctx)
		if err != nil {
			return nil, err
		}
		s.turn.Store(a.turns.Add(1) - 1)
		if a.meta == nil {
			if len(a.slots) == 0 && ask.New == nil {
				return &protocol.Survey{Worker: -1, Last: -1, Server: a.now, Unit: 2 * half}, nil
			}
			mine, err := s.make(ctx, a, ask)
			if err != nil {
				return nil, err
			}
			made = made || mine
			continue
		}
		if a.meta.damage != nil {
			return nil, a.meta.damage
		}
		again, err := s.complete(ctx, a, ask, crowded)
		if err != nil {
			return nil, err
		}
		if again {
			crowded = false
			continue
		}
		sv, err := s.surveyOf(a, ask)
		if err != nil {
			return nil, err
		}
		sv.Made = made
		s.relist(a.slots)
		return sv, nil
	}
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

// beat takes note that somebody else was faster, and reports whether to list again.
func (s *session) beat() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beaten++
	return s.beaten >= crowd
}

// complete does what has to be done before a list tells what a survey wants to know, and
// reports whether it was anything.
func (s *session) complete(ctx context.Context, a *all, ask protocol.Ask, crowded bool) (again bool, _ error) {
	switch {
	case a.meta.Change != a.meta.Done && (a.missing() == "" || a.meta.Mend):
		return true, s.finish(ctx, a)
	case a.meta.UID == "" && a.meta.Count == 0 && len(a.slots) == 0: // whoever has made it may be gone
		_, err := s.write(ctx, a.meta, a.meta.next(), nil)
		return true, err
	case ask.New != nil && ask.Share.Count > 0 && a.missing() == "":
		return s.grow(ctx, a, ask.Share, crowded)
	}
	return false, nil
}

// surveyOf reads a list.
func (s *session) surveyOf(a *all, ask protocol.Ask) (*protocol.Survey, error) {
	sv := &protocol.Survey{Worker: -1, Last: -1, Slots: a.used(), Server: a.now, Unit: 2 * half, Origin: a.missing()}
	var err error
	if sv.Meta, err = entry[protocol.Meta](a.meta); err != nil {
		return nil, err
	}
	sv.Meta.Record.Floor = max(sv.Meta.Record.Floor, a.floor())
	if a.meta.Count < sv.Meta.Record.Capacity {
		sv.Below = a.meta.Count
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
	sv.Begin = s.begin(a, sv.Owned, ask.Share)
	s.findLast(a, sv, ask.Identity)
	sv.Worker = s.leads(a, ask.Token)
	return sv, nil
}

// begin returns 1 + the place of a free worker ID of a share: those of this process that choose by the
// same list get different ones, as long as there are.
// 0: none is free.
func (s *session) begin(a *all, owned []int, share coord.Range) int64 {
	var free []int
	for id := share.First; id < min(share.First+share.Count, a.meta.Count); id++ {
		if _, is := slices.BinarySearch(owned, id); !is {
			free = append(free, id)
		}
	}
	if len(free) == 0 {
		return 0
	}
	return int64(free[(a.base+s.turn.Load())%int64(len(free))] - share.First + 1)
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

// settle makes sure that a grant whose outcome is not known is done, or never is: the slot is
// written as it was, which whatever is still under way then finds changed.
func (s *store) settle(ctx context.Context, token string) error {
	s.mu.Lock()
	o := s.pending[token]
	s.mu.Unlock()
	if o == nil {
		return nil
	}
	if _, err := s.write(ctx, o, o.next(), nil); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pending, token)
	return nil
}
