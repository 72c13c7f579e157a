package memstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

// Open implements protocol.Store.
func (s *Server) Open(string, time.Duration, int) (protocol.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &session{Server: s, back: s.back}, nil
}

// session is what a token has on the server.
type session struct {
	*Server
	back  int // as it was when this one was opened
	ended bool
}

// over reports whether the session has ended. The caller holds mu.
func (s *session) over() bool { return s.ended || s.Blind && s.back != s.Server.back }

var errEnded = errors.New("the session was ended")

// errDamaged is the error of a namespace's record that is gone.
var errDamaged = fmt.Errorf("%w: the record of the namespace is missing and there are slots",
	coord.ErrInvalid)

// Survey implements protocol.Session.
func (s *session) Survey(_ context.Context, ask protocol.Ask) (*protocol.Survey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick()
	st := &s.state
	sv := &protocol.Survey{
		Worker: st.worker(ask.Token), Last: -1,
		Others: func(context.Context) []string { return s.Others },
	}
	switch {
	case st.Meta.There():
	case len(st.Slots)+len(st.Owners) > 0:
		return nil, errDamaged
	case ask.New != nil:
		st.Number++
		st.Meta = put(s.Server, st.Meta, s.made(ask.New(s.Time())))
		st.Origin, sv.Made = st.Lineage, true
	}
	if ask.Token != "" {
		st.Number++
		st.Tickets++
		sv.Ticket = st.Tickets
	}
	for _, id := range slices.Sorted(maps.Keys(st.Slots)) { // a seed of a simulation repeats
		slot := st.Slots[id]
		if ask.Identity != "" && slot.Record.Identity == ask.Identity &&
			slot.Version > sv.LastSlot.Version {
			sv.Last, sv.LastSlot = id, slot
		}
	}
	sv.Position = s.position(sv.Made || ask.Token != "")
	sv.Meta, sv.Origin, sv.Slots = st.Meta, st.Origin, len(st.Slots)+len(st.Owners)
	for _, id := range slices.Sorted(maps.Keys(st.Owners)) {
		if n := id - ask.Share.First; ask.Share.Count != 0 && (n < 0 || n >= ask.Share.Count) {
			continue
		}
		sv.Owned = append(sv.Owned, id)
		if st.Owners[id].Token == "" {
			sv.Retired++
			continue
		}
		slot := st.Slots[id]
		h := protocol.Holder{Worker: id}
		if !s.Blind { // else a version is no number of a write
			h.Changed = slot.Version
		}
		if s.Clock == nil {
			h.Mark = func() (protocol.Mark, error) { return protocol.MarkOf(slot.Record), nil }
		}
		sv.Holders = append(sv.Holders, h)
	}
	return sv, nil
}

// made is the record of a namespace that is made now. The caller holds mu.
func (s *session) made(meta protocol.Meta) protocol.Meta {
	if !s.Numbered {
		return meta
	}
	born := meta.Born()
	s.spaces++
	meta.Nonce = strconv.Itoa(s.spaces)
	if born {
		meta.Loss.Nonce = meta.Nonce
	}
	return meta
}

// Look implements protocol.Session.
func (s *session) Look(_ context.Context, worker int, _ string) (*protocol.View, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick()
	return s.view(worker, false), nil
}

// view is what is stored. The caller holds mu.
func (s *session) view(worker int, wrote bool) *protocol.View {
	o, owned := s.state.Owners[worker]
	v := &protocol.View{
		Position: s.position(wrote), Meta: s.state.Meta, Slot: s.state.Slots[worker],
		Owned: owned, Lease: o.Token,
	}
	if s.Strict {
		v.Origin = s.state.Origin
	}
	return v
}

// Probe implements protocol.Session.
func (s *session) Probe(_ context.Context, workers []int) ([]protocol.Probe, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]protocol.Probe, len(workers))
	for i, id := range workers {
		out[i].Slot = s.state.Slots[id]
	}
	return out, nil
}

// Commit implements protocol.Session.
func (s *session) Commit(_ context.Context, c protocol.Change) (protocol.Outcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick()
	st, worker, now := &s.state, c.Worker(), s.position(false)
	current := s.view(worker, false)
	switch {
	case s.over():
		return protocol.Outcome{}, errEnded
	case s.Strict && st.Lineage != st.Origin && !c.NoteLineage, s.Strict && c.NoteLineage &&
		(c.Before.Lineage != st.Lineage || s.Clock != nil && s.Clock() > c.Deadline),
		!current.Meta.Same(c.Before.Meta), c.Unused && len(st.Slots)+len(st.Owners) > 0,
		c.Owner == protocol.OwnerTaken && c.Token != c.Replaced && st.worker(c.Token) >= 0:
		return protocol.Outcome{Position: now, Now: current}, nil
	case worker >= 0 && (!current.Slot.Same(c.Before.Slot) || current.Owned != c.Before.Owned):
		return protocol.Outcome{Position: now, Now: current, Conflict: protocol.ConflictSlot}, nil
	}
	st.Number++
	if c.Meta != nil {
		st.Meta = put(s.Server, st.Meta, *c.Meta)
	}
	if c.NoteLineage {
		st.Origin = st.Lineage
	}
	if c.Slot != nil {
		st.Slots[worker] = put(s.Server, st.Slots[worker], *c.Slot)
	}
	s.own(worker, c)
	return protocol.Outcome{Position: s.position(true), Done: true, Now: s.view(worker, true)}, nil
}

// worker returns the worker ID that a token leads to; -1: none.
func (st State) worker(token string) int {
	for id, o := range st.Owners {
		if token != "" && o.Token == token {
			return id
		}
	}
	return -1
}

// own does what a change says of the owner mark. The caller holds mu.
func (s *session) own(worker int, c protocol.Change) {
	switch o := s.state.Owners[worker]; {
	case c.Owner == protocol.OwnerFreed:
		delete(s.state.Owners, worker)
		s.notify()
	case c.Owner == protocol.OwnerForever:
		s.state.Owners[worker] = Owner{}
		s.notify()
	case c.Owner == protocol.OwnerTaken:
		s.state.lease(worker, c.Token)
	case c.Slot != nil && o.Token != "":
		s.state.lease(worker, o.Token)
	}
}

// Leases implements protocol.Session.
func (s *session) Leases(_ context.Context, holders []protocol.Holder) []protocol.Lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []protocol.Lease
	for _, h := range holders {
		if o := s.state.Owners[h.Worker]; o.Token != "" {
			slot := s.state.Slots[h.Worker].Record
			out = append(out, protocol.Lease{
				Worker: h.Worker, Renewed: slot.Renewed, TTL: slot.Lease(),
				Left: o.Ends.Sub(lifetime.Now()),
			})
		}
	}
	return out
}

// List implements protocol.Session.
func (s *session) List(_ context.Context, slots bool) (*protocol.Listing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick()
	l := &protocol.Listing{
		Position: s.position(false), Meta: s.state.Meta,
		Owned: slices.Sorted(maps.Keys(s.state.Owners)),
	}
	if slots && l.Meta.There() {
		l.Slots = s.state.records()
	}
	return l, nil
}

// Watch implements protocol.Session.
func (s *session) Watch(ctx context.Context, v *protocol.View) bool {
	for {
		s.mu.Lock()
		current, changed := s.view(v.Slot.Record.Worker, false), s.changed
		s.mu.Unlock()
		if !current.Owned || current.Lease != v.Lease {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// WatchFree implements protocol.FreeWatcher.
func (s *session) WatchFree(ctx context.Context, share coord.Range) bool {
	for {
		s.mu.Lock()
		s.tick()
		changed, held := s.changed, 0
		for id := range s.state.Owners {
			if id >= share.First && id-share.First < share.Count {
				held++
			}
		}
		s.mu.Unlock()
		if held < share.Count {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// Holds implements protocol.Session.
func (s *session) Holds(v *protocol.View) bool { return v.Owned }

// Over implements protocol.Session.
func (s *session) Over() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over() {
		return errEnded
	}
	return nil
}

// End implements protocol.Session.
func (s *session) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}
