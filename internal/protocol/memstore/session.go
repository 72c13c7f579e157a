package memstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

// Store is a protocol.Store over a server.
type Store struct{ Server *Server }

// Open implements protocol.Store.
func (s Store) Open(string, time.Duration, int) (protocol.Session, error) {
	s.Server.mu.Lock()
	defer s.Server.mu.Unlock()
	return &session{Server: s.Server, back: s.Server.back}, nil
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
	sv := &protocol.Survey{Worker: st.worker(ask.Token), Last: -1, Server: s.micro(), Unit: 1}
	switch {
	case st.meta.There():
	case len(st.slots)+len(st.owners) > 0:
		return nil, errDamaged
	case ask.New != nil:
		st.number++
		st.meta, st.origin, sv.Made = put(s.Server, st.meta, ask.New(sv.Server)), st.lineage, true
	}
	if ask.Token != "" {
		st.number++
		st.tickets++
		sv.Begin = st.tickets
	}
	for id, slot := range st.slots {
		if ask.Identity != "" && slot.Record.Identity == ask.Identity &&
			slot.Version > sv.LastSlot.Version {
			sv.Last, sv.LastSlot = id, slot
		}
	}
	sv.Position = s.position(sv.Made || ask.Token != "")
	sv.Meta, sv.Origin, sv.Slots = st.meta, st.origin, len(st.slots)+len(st.owners)
	for _, id := range slices.Sorted(maps.Keys(st.owners)) {
		if n := id - ask.Share.First; ask.Share.Count != 0 && (n < 0 || n >= ask.Share.Count) {
			continue
		}
		sv.Owned = append(sv.Owned, id)
		o := st.owners[id]
		if o.token == "" {
			sv.Retired++
			continue
		}
		h := protocol.Holder{Worker: id, Changed: o.changed, Lease: o, Mark: o.mark}
		if s.Clock != nil {
			h.Mark = nil
		}
		sv.Holders = append(sv.Holders, h)
	}
	return sv, nil
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
	o, owned := s.state.owners[worker]
	v := &protocol.View{
		Position: s.position(wrote), Meta: s.state.meta, Slot: s.state.slots[worker],
		Owned: owned, Lease: o,
	}
	if s.Strict {
		v.Origin = s.state.origin
	}
	return v
}

// Probe implements protocol.Session.
func (s *session) Probe(_ context.Context, workers []int) ([]protocol.Probe, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]protocol.Probe, len(workers))
	for i, id := range workers {
		out[i].Slot = s.state.slots[id]
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
	case s.Strict && st.lineage != st.origin && !c.NoteLineage, s.Strict && c.NoteLineage &&
		c.Before.Lineage != st.lineage,
		!same(current.Meta, c.Before.Meta), c.Unused && len(st.slots)+len(st.owners) > 0,
		c.Owner == protocol.OwnerTaken && c.Token != c.Replaced && st.worker(c.Token) >= 0:
		return protocol.Outcome{Position: now, Now: current}, nil
	case worker >= 0 && (!same(current.Slot, c.Before.Slot) || current.Owned != c.Before.Owned ||
		c.Before.Owned && made(current) != made(c.Before)):
		return protocol.Outcome{Position: now, Now: current, Conflict: protocol.ConflictSlot}, nil
	}
	st.number++
	if c.Meta != nil {
		st.meta = put(s.Server, st.meta, *c.Meta)
	}
	if c.NoteLineage {
		st.origin = st.lineage
	}
	if c.Slot != nil {
		st.slots[worker] = put(s.Server, st.slots[worker], *c.Slot)
	}
	s.own(worker, c)
	return protocol.Outcome{Position: s.position(true), Done: true, Now: s.view(worker, true)}, nil
}

// worker returns the worker ID that a token leads to; -1: none.
func (st *state) worker(token string) int {
	for id, o := range st.owners {
		if token != "" && o.token == token {
			return id
		}
	}
	return -1
}

// own does what a change says of the owner mark. The caller holds mu.
func (s *session) own(worker int, c protocol.Change) {
	st := &s.state
	o := st.owners[worker]
	switch {
	case c.Owner == protocol.OwnerFreed:
		delete(st.owners, worker)
		s.notify()
		return
	case c.Owner == protocol.OwnerForever:
		o = owner{made: st.number}
		s.notify()
	case c.Owner == protocol.OwnerTaken:
		o = owner{token: c.Token, made: st.number, ttl: c.Slot.Lease()}
	case c.Slot == nil || o.token == "":
		return
	}
	if c.Slot != nil {
		o.renewed = c.Slot.Renewed
	}
	o.changed, o.ends = st.number, lifetime.Now().Add(o.ttl)
	st.owners[worker] = o
}

// made is when the owner mark of a view was made.
func made(v *protocol.View) int64 {
	o, _ := v.Lease.(owner)
	return o.made
}

// same reports whether two records are the same, by number and by value.
func same[R interface {
	comparable
	protocol.Record
}](a, b protocol.Entry[R]) bool {
	return a.Version == b.Version && a.Record == b.Record
}

// Leases implements protocol.Session.
func (s *session) Leases(_ context.Context, holders []protocol.Holder) []protocol.Lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []protocol.Lease
	for _, h := range holders {
		if o := s.state.owners[h.Worker]; o.token != "" {
			out = append(out, protocol.Lease{
				Worker: h.Worker, Renewed: o.renewed, TTL: o.ttl, Left: o.ends.Sub(lifetime.Now()),
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
		Position: s.position(false), Meta: s.state.meta,
		Owned: slices.Sorted(maps.Keys(s.state.owners)),
	}
	if slots && l.Meta.There() {
		for _, id := range slices.Sorted(maps.Keys(s.state.slots)) {
			l.Slots = append(l.Slots, s.state.slots[id].Record)
		}
	}
	return l, nil
}

// Watch implements protocol.Session.
func (s *session) Watch(ctx context.Context, v *protocol.View) bool {
	for {
		s.mu.Lock()
		current, changed := s.view(v.Slot.Record.Worker, false), s.changed
		s.mu.Unlock()
		if !current.Owned || made(current) != made(v) {
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

// Time implements protocol.Session.
func (s *session) Time() int64 { return s.micro() }

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
