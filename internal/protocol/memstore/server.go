// Package memstore has a back end in memory: a [Server] that plays several, and a
// protocol.Store over it. What it has stored can be rolled back, so that tests find out
// what the protocol does when writes are lost.
package memstore

import (
	"cmp"
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
	// Blind says that answers do not tell the number of the write, that versions count the
	// writes of each record, and that sessions end when the server goes back.
	Blind bool

	mu      sync.Mutex
	state   state
	back    int // how often it went back
	changed chan struct{}
}

// state is what is stored. It is copied when it is kept.
type state struct {
	lineage string
	number  int64 // of the last write
	tickets int64
	origin  string
	meta    protocol.Entry[protocol.Meta]
	slots   map[int]protocol.Entry[protocol.Slot]
	owners  map[int]owner
}

// owner is an owner mark, and the lease that it is on.
type owner struct {
	token         string // empty: it is there for ever
	made, changed int64
	renewed       int64
	ttl           time.Duration
	ends          time.Time
}

// mark is what it says.
func (o owner) mark() (protocol.Mark, error) {
	return protocol.Mark{Version: protocol.Version, Renewed: o.renewed, TTL: o.ttl.Milliseconds()}, nil
}

// NewServer returns a server that has stored nothing.
func NewServer(lineage string) *Server {
	return &Server{state: emptyState(lineage), changed: make(chan struct{})}
}

func emptyState(lineage string) state {
	return state{
		lineage: lineage, slots: map[int]protocol.Entry[protocol.Slot]{},
		owners: map[int]owner{},
	}
}

func (st state) copied() state {
	st.slots, st.owners = maps.Clone(st.slots), maps.Clone(st.owners)
	return st
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
		s.back++
		for id, o := range s.state.owners {
			o.ends = lifetime.Now().Add(o.ttl)
			s.state.owners[id] = o
		}
		s.notify()
	}
}

// Delete deletes the namespace.
func (s *Server) Delete() {
	s.mu.Lock()
	defer s.mu.Unlock()
	number := s.state.number + 1
	s.state = emptyState(s.state.lineage)
	s.state.number = number
	s.notify()
}

// Move gives the server another lineage, as a restore under another name does.
func (s *Server) Move(lineage string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.lineage = lineage
}

// Expire ends the lease of whoever holds a worker ID.
func (s *Server) Expire(worker int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.owners[worker].token != "" {
		s.end(worker)
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
	return 1 + len(s.state.slots) + len(s.state.owners)
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
		if o.token != "" {
			n++
		}
	}
	return n
}

// tick ends the leases whose time is over. The caller holds mu.
func (s *Server) tick() {
	for id, o := range s.state.owners {
		if o.token != "" && !lifetime.Now().Before(o.ends) {
			s.end(id)
		}
	}
}

// end ends the lease of a worker ID. The caller holds mu.
func (s *Server) end(worker int) {
	delete(s.state.owners, worker)
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

// put returns what replaces a record in the write that is under way. The caller holds mu.
func put[R protocol.Record](s *Server, old protocol.Entry[R], r R) protocol.Entry[R] {
	next := protocol.Entry[R]{
		Record: r, Made: cmp.Or(old.Made, s.state.number),
		Version: s.state.number,
	}
	if s.Blind {
		next.Version = old.Version + 1
	}
	return next
}
