// Package memstore has a back end in memory: a [Server] that plays several, and a
// protocol.Store over it. What it has stored can be rolled back, so that tests find out
// what the protocol does when writes are lost.
package memstore

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

// Server is a back end in memory for one namespace. All methods are safe for concurrent
// use, and none blocks.
type Server struct {
	// Clock returns the server's clock, in microseconds since 1970. Nil: it has none, and
	// holders store theirs.
	Clock func() int64
	// Strict says that the server writes nothing while the lineage on record is not its own,
	// but what settles that.
	Strict bool
	// Blind says that answers do not tell the number of the write.
	Blind bool

	mu      sync.Mutex
	state   state
	leases  map[int64]*lease
	last    int64 // lease
	changed chan struct{}
}

// state is what is stored. It is copied when it is kept.
type state struct {
	lineage    string
	number     int64 // of the last write
	tickets    int64
	origin     string
	meta       protocol.Entry[protocol.Meta]
	slots      map[int]protocol.Entry[protocol.Slot]
	owners     map[int]owner
	tokens     map[string]token
	identities map[string]int
}

// owner is an owner mark.
type owner struct {
	made, changed int64
	lease         int64 // 0: it is there for ever
	renewed       int64
	ttl           time.Duration
}

// mark is what it says.
func (o owner) mark() (protocol.Mark, error) {
	return protocol.Mark{Version: protocol.Version, Renewed: o.renewed, TTL: o.ttl.Milliseconds()}, nil
}

// token leads from an acquisition to its worker ID.
type token struct {
	worker int
	lease  int64
}

type lease struct {
	ttl  time.Duration
	ends time.Time
}

// NewServer returns a server that has stored nothing.
func NewServer(lineage string) *Server {
	s := &Server{leases: map[int64]*lease{}, changed: make(chan struct{})}
	s.state = state{lineage: lineage}.copied()
	return s
}

func (s state) copied() state {
	s.slots, s.owners, s.tokens, s.identities = clone(s.slots), clone(s.owners), clone(s.tokens), clone(s.identities)
	return s
}

func clone[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return maps.Clone(m)
}

// Snapshot returns what puts the server back to what it has stored now. Leases begin anew
// then.
func (s *Server) Snapshot() (restore func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.state.copied()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.state = kept.copied()
		s.leases = map[int64]*lease{}
		for _, o := range s.state.owners {
			if o.lease != 0 {
				s.leases[o.lease] = &lease{o.ttl, lifetime.Now().Add(o.ttl)}
			}
		}
		s.notify()
	}
}

// Delete deletes the namespace.
func (s *Server) Delete() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = state{lineage: s.state.lineage, number: s.state.number + 1}.copied()
	s.notify()
}

// Move gives the server another lineage, as a restore under another name does.
func (s *Server) Move(lineage string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.lineage = lineage
}

// Skip has the server count writes from a higher number on, as one does that was
// restored with care.
func (s *Server) Skip(by int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.number += by
}

// Expire ends the lease of whoever holds a worker ID.
func (s *Server) Expire(worker int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o, ok := s.state.owners[worker]; ok && o.lease != 0 {
		s.end(o.lease)
	}
}

// Number returns the number of the last write.
func (s *Server) Number() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.number
}

// Meta returns the namespace's record.
func (s *Server) Meta() protocol.Meta {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.meta.Record
}

// Count returns how many records the server has.
func (s *Server) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.state
	return 1 + len(st.slots) + len(st.owners) + len(st.tokens) + len(st.identities)
}

// Slots returns what is stored of worker IDs.
func (s *Server) Slots() []protocol.Slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []protocol.Slot
	for _, id := range slices.Sorted(maps.Keys(s.state.slots)) {
		all = append(all, s.state.slots[id].Record)
	}
	return all
}

// Held returns how many worker IDs have a holder's owner mark.
func (s *Server) Held() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.state.owners {
		if o.lease != 0 {
			n++
		}
	}
	return n
}

// tick ends the leases whose time is over. The caller holds mu.
func (s *Server) tick() {
	for _, id := range slices.Sorted(maps.Keys(s.leases)) {
		if !lifetime.Now().Before(s.leases[id].ends) {
			s.end(id)
		}
	}
}

// end ends a lease, and what is on it. The caller holds mu.
func (s *Server) end(id int64) {
	delete(s.leases, id)
	maps.DeleteFunc(s.state.owners, func(_ int, o owner) bool { return o.lease == id })
	maps.DeleteFunc(s.state.tokens, func(_ string, t token) bool { return t.lease == id })
	s.state.number++
	s.notify()
}

// notify wakes those who watch. The caller holds mu.
func (s *Server) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// position is what an answer tells of the history. The caller holds mu.
func (s *Server) position(wrote bool) protocol.Position {
	if s.Blind {
		return protocol.Position{Lineage: s.state.lineage}
	}
	return protocol.Position{Lineage: s.state.lineage, Number: s.state.number, Wrote: wrote}
}

// micro is the server's clock; 0: it has none.
func (s *Server) micro() int64 {
	if s.Clock == nil {
		return 0
	}
	return s.Clock()
}

// put stores a record.
func put[R protocol.Record](old protocol.Entry[R], r R, number int64) (protocol.Entry[R], error) {
	raw, err := protocol.Encode(r)
	if err != nil {
		return old, fmt.Errorf("memstore: %w", err)
	}
	next := protocol.Entry[R]{Record: r, Raw: []byte(raw), Made: old.Made, Version: number}
	if !old.There() {
		next.Made = number
	}
	return next, nil
}
