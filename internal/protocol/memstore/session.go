package memstore

import (
	"bytes"
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
func (s Store) Open(token string, ttl time.Duration, _ int) (protocol.Session, error) {
	return &session{Server: s.Server, token: token, ttl: ttl}, nil
}

// session is what a token has on the server.
type session struct {
	*Server
	token string
	ttl   time.Duration
	lease int64 // 0: none yet
	ended bool
}

var errEnded = errors.New("the session was ended")

// errDamaged is the error of a namespace's record that is gone.
var errDamaged = fmt.Errorf("%w: the record of the namespace is missing and there are slots", coord.ErrInvalid)

// Survey implements protocol.Session.
func (s *session) Survey(_ context.Context, ask protocol.Ask) (*protocol.Survey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick()
	st := &s.state
	sv := &protocol.Survey{Worker: -1, Last: -1, Server: s.micro(), Unit: 1}
	switch {
	case st.meta.There():
	case len(st.slots)+len(st.owners) > 0:
		return nil, errDamaged
	case ask.New != nil:
		st.number++
		meta, err := put(st.meta, ask.New(sv.Server), st.number)
		if err != nil {
			return nil, err
		}
		st.meta, st.origin, sv.Made = meta, st.lineage, true
	}
	if ask.Token != "" {
		st.number++
		st.tickets++
		if t, ok := st.tokens[ask.Token]; ok {
			sv.Worker = t.worker
		}
		if id, ok := st.identities[ask.Identity]; ok && ask.Identity != "" {
			sv.Last = id
			if slot := st.slots[id]; slot.Record.Identity == ask.Identity {
				sv.LastSlot = slot
			}
		}
	}
	sv.Position = s.position(sv.Made || ask.Token != "")
	if ask.Token != "" {
		sv.Begin = st.tickets
	}
	sv.Meta, sv.Origin, sv.Slots = st.meta, st.origin, len(st.slots)+len(st.owners)
	for _, id := range slices.Sorted(maps.Keys(st.owners)) {
		if ask.Share.Count != 0 && (id < ask.Share.First || id-ask.Share.First >= ask.Share.Count) {
			continue
		}
		sv.Owned = append(sv.Owned, id)
		if o := st.owners[id]; o.lease == 0 {
			sv.Retired++
		} else {
			h := protocol.Holder{Worker: id, Changed: o.changed, Lease: o, Mark: o.mark}
			if s.Clock != nil {
				h.Mark = nil
			}
			sv.Holders = append(sv.Holders, h)
		}
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
	v := &protocol.View{Position: s.position(wrote), Meta: s.state.meta, Slot: s.state.slots[worker], Owned: owned, Lease: o}
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
	st, worker := &s.state, -1
	if c.Slot != nil {
		worker = c.Slot.Worker
	} else if c.Before.Slot.There() {
		worker = c.Before.Slot.Record.Worker
	}
	current := s.view(worker, false)
	_, held := st.tokens[c.Token]
	switch {
	case s.ended:
		return protocol.Outcome{}, errEnded
	case s.Strict && st.lineage != st.origin && !c.Settle, s.Strict && c.Settle && c.Before.Lineage != st.lineage:
		return protocol.Outcome{Position: s.position(false), Now: current}, nil
	case !same(current.Meta, c.Before.Meta), c.Unused && len(st.slots)+len(st.owners) > 0,
		c.Owner == protocol.OwnerTaken && c.Token != c.Replaced && held:
		return protocol.Outcome{Position: s.position(false), Now: current}, nil
	case worker >= 0 && (!same(current.Slot, c.Before.Slot) || current.Owned != c.Before.Owned || c.Before.Owned && made(current) != made(c.Before)):
		return protocol.Outcome{Position: s.position(false), Now: current, Conflict: protocol.ConflictSlot}, nil
	}
	st.number++
	var errs []error
	if c.Meta != nil {
		meta, err := put(st.meta, *c.Meta, st.number)
		st.meta, errs = meta, append(errs, err)
	}
	if c.Settle {
		st.origin = st.lineage
	}
	if c.Slot != nil {
		slot, err := put(st.slots[worker], *c.Slot, st.number)
		st.slots[worker], errs = slot, append(errs, err)
		now, before := c.Identities()
		if st.identities[before] == worker {
			delete(st.identities, before)
		}
		if now != "" {
			st.identities[now] = worker
		}
	}
	s.own(worker, c)
	return protocol.Outcome{Position: s.position(true), Done: true, Now: s.view(worker, true)}, errors.Join(errs...)
}

// own does what a change says of the owner mark. The caller holds mu.
func (s *session) own(worker int, c protocol.Change) {
	st := &s.state
	switch c.Owner {
	case protocol.OwnerStays:
		if o := st.owners[worker]; c.Slot != nil && o.lease != 0 {
			s.leases[o.lease].ends = lifetime.Now().Add(s.leases[o.lease].ttl)
			o.changed, o.renewed = st.number, c.Slot.Renewed
			st.owners[worker] = o
		}
	case protocol.OwnerTaken:
		if s.leases[s.lease] == nil {
			s.last++
			s.lease = s.last
			s.leases[s.lease] = &lease{ttl: c.Slot.Lease()}
		}
		s.leases[s.lease].ends = lifetime.Now().Add(c.Slot.Lease())
		delete(st.tokens, c.Replaced)
		st.tokens[c.Token] = token{worker, s.lease}
		st.owners[worker] = owner{made: st.number, changed: st.number, lease: s.lease, renewed: c.Slot.Renewed, ttl: c.Slot.Lease()}
	case protocol.OwnerFreed:
		delete(st.owners, worker)
		delete(st.tokens, c.Token)
		s.notify()
	case protocol.OwnerForever:
		st.owners[worker] = owner{made: st.number, changed: st.number}
		s.notify()
	}
}

// made is when the owner mark of a view was made.
func made(v *protocol.View) int64 {
	o, _ := v.Lease.(owner)
	return o.made
}

// same reports whether two records are the same, by number and by value.
func same[R protocol.Record](a, b protocol.Entry[R]) bool {
	return a.Version == b.Version && bytes.Equal(a.Raw, b.Raw)
}

// Leases implements protocol.Session.
func (s *session) Leases(_ context.Context, holders []protocol.Holder) []protocol.Lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []protocol.Lease
	for _, h := range holders {
		o, _ := h.Lease.(owner)
		if l := s.leases[o.lease]; l != nil {
			out = append(out, protocol.Lease{Worker: h.Worker, Mark: fmt.Sprint(h.Changed), Renewed: o.renewed, TTL: o.ttl, Left: l.ends.Sub(lifetime.Now())})
		}
	}
	return out
}

// List implements protocol.Session.
func (s *session) List(_ context.Context, slots bool) (*protocol.Listing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick()
	l := &protocol.Listing{Position: s.position(false), Meta: s.state.meta, Owned: slices.Sorted(maps.Keys(s.state.owners))}
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
	if s.ended {
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
