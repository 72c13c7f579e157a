// Package memstore has a back end in memory: a [Server] that plays several, and is a
// protocol.Store. What it has stored can be rolled back, so that tests find out
// what the protocol does when writes are lost.
package memstore

import (
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
	// but what settles that, and that not after its deadline.
	Strict bool
	// Blind says that answers do not tell the number of the write, that versions count the
	// writes of each record, and that sessions end when the server goes back.
	Blind bool
	// Numbered says that the nonces of namespaces are numbers in the order in which they are made.
	// The search for a worker ID begins where the nonce says, so this makes it repeat exactly.
	Numbered bool
	// Others are the names of other namespaces.
	Others []string

	mu      sync.Mutex
	state   State
	back    int // how often it went back
	spaces  int // how many namespaces were made, those too that were lost
	changed chan struct{}
}

// State is what a server has stored.
type State struct {
	Lineage string // of the server
	Number  int64  // of the last write
	Tickets int64  // that were given out
	Origin  string // the lineage on record
	Meta    protocol.Entry[protocol.Meta]
	Slots   map[int]protocol.Entry[protocol.Slot]
	Owners  map[int]Owner
}

// Owner is an owner mark.
type Owner struct {
	Token string    // empty: the worker ID is retired
	Ends  time.Time // by lifetime.Now
}

// NewServer returns a server that has stored nothing.
func NewServer(lineage string) *Server {
	return &Server{state: emptyState(lineage), changed: make(chan struct{})}
}

func emptyState(lineage string) State {
	return State{
		Lineage: lineage, Slots: map[int]protocol.Entry[protocol.Slot]{}, Owners: map[int]Owner{},
	}
}

func (st State) copied() State {
	st.Slots, st.Owners = maps.Clone(st.Slots), maps.Clone(st.Owners)
	return st
}

// records are those of worker IDs, in ascending order.
func (st State) records() (all []protocol.Slot) {
	for _, id := range slices.Sorted(maps.Keys(st.Slots)) {
		all = append(all, st.Slots[id].Record)
	}
	return all
}

// lease has the lease of a worker ID begin, or begin anew.
func (st State) lease(worker int, token string) {
	st.Owners[worker] = Owner{token, lifetime.Now().Add(st.Slots[worker].Record.Lease())}
}

// State returns a copy of what is stored.
func (s *Server) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.copied()
}

// Snapshot returns what puts the server back to what it has stored now. Leases begin anew
// then.
func (s *Server) Snapshot() (restore func()) {
	kept := s.State()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.state = kept.copied()
		s.back++
		for id, o := range s.state.Owners {
			s.state.lease(id, o.Token)
		}
		s.notify()
	}
}

// Delete deletes the namespace.
func (s *Server) Delete() {
	s.mu.Lock()
	defer s.mu.Unlock()
	number := s.state.Number + 1
	s.state = emptyState(s.state.Lineage)
	s.state.Number = number
	s.notify()
}

// Move gives the server another lineage, as a restore under another name does.
func (s *Server) Move(lineage string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Lineage = lineage
}

// Expire ends the lease of whoever holds a worker ID.
func (s *Server) Expire(worker int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Owners[worker].Token != "" {
		s.end(worker)
	}
}

// Meta returns the namespace's record.
func (s *Server) Meta() protocol.Meta { return s.State().Meta.Record }

// Slots returns what is stored of worker IDs.
func (s *Server) Slots() []protocol.Slot { return s.State().records() }

// tick ends the leases whose time is over. The caller holds mu.
func (s *Server) tick() {
	for id, o := range s.state.Owners {
		if o.Token != "" && !lifetime.Now().Before(o.Ends) {
			s.end(id)
		}
	}
}

// end ends the lease of a worker ID. The caller holds mu.
func (s *Server) end(worker int) {
	delete(s.state.Owners, worker)
	s.state.Number++
	s.notify()
}

// notify wakes those who watch. The caller holds mu.
func (s *Server) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// position is what an answer tells of the history. The caller holds mu.
func (s *Server) position(wrote bool) protocol.Position {
	p := protocol.Position{Lineage: s.state.Lineage, Server: s.Time()}
	if !s.Blind {
		p.Number = s.state.Number
		p.Wrote = wrote
	}
	return p
}

// Time is the server's clock; zero: it has none.
func (s *Server) Time() protocol.Span {
	if s.Clock == nil {
		return protocol.Span{}
	}
	now := s.Clock()
	return protocol.Span{Low: now, High: now}
}

// put returns what replaces a record in the write that is under way. The caller holds mu.
func put[R protocol.Record](s *Server, old protocol.Entry[R], r R) protocol.Entry[R] {
	next := old.Next(r, s.state.Number)
	if s.Blind {
		next.Version = old.Version + 1
	}
	return next
}
