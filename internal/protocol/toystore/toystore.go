// Package toystore is the smallest store that the coordinator of package protocol runs on: maps, a mutex, a counter
// of commits, and leases with deadlines by a clock. It is an example for those who write a back end, passes the
// conformance suite, and no program uses it. It keeps Go values, where a real store would encode records.
package toystore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/internal/protocol"
)

// Store is a namespace in memory. Make it with New.
type Store struct {
	clock clock.Clock
	mu    sync.Mutex
	at    protocol.Position // its Number counts what was written
	meta  protocol.Entry[protocol.Meta]
	slots map[int]protocol.Entry[protocol.Slot]
	marks map[int]*mark  // of the worker IDs that are held or retired
	last  map[string]int // which worker ID an identity had last
}

// mark is an owner mark.
type mark struct {
	token string        // empty: the worker ID is retired
	end   int64         // of the lease, in microseconds since 1970
	gone  chan struct{} // closed when the mark is deleted
}

// session is the store, as one token sees it.
type session struct {
	*Store
	ttl  time.Duration
	life context.Context
	end  context.CancelFunc
}

// New returns an empty store whose leases end by c.
func New(c clock.Clock) *Store {
	return &Store{clock: c, slots: map[int]protocol.Entry[protocol.Slot]{}, marks: map[int]*mark{}, last: map[string]int{}}
}

// Open implements protocol.Store.
func (s *Store) Open(_ string, ttl time.Duration, _ int) (protocol.Session, error) {
	life, end := context.WithCancel(context.Background())
	return &session{s, ttl, life, end}, nil
}

func (s *session) Survey(_ context.Context, ask protocol.Ask) (*protocol.Survey, error) {
	defer s.lock()()
	v := &protocol.Survey{Slots: len(s.slots) + len(s.marks), Worker: s.workerOf(ask.Token), Last: -1}
	v.Server, v.Unit = s.Time(), 1
	if v.Made = !s.meta.There() && ask.New != nil; v.Made {
		s.at.Number++
		s.meta = put(s.meta, ask.New(v.Server), s.at.Number)
	}
	v.Position, v.Meta = s.at, s.meta
	if worker, known := s.last[ask.Identity]; known {
		v.Last = worker
	}
	for _, id := range slices.Sorted(maps.Keys(s.marks)) {
		if n := id - ask.Share.First; ask.Share.Count == 0 || n >= 0 && n < ask.Share.Count {
			v.Owned = append(v.Owned, id)
			if s.marks[id].token != "" {
				v.Holders = append(v.Holders, protocol.Holder{Worker: id, Changed: s.slots[id].Version})
			}
		}
	}
	v.Retired = len(v.Owned) - len(v.Holders)
	return v, nil
}

func (s *session) Look(_ context.Context, worker int, _ string) (*protocol.View, error) {
	defer s.lock()()
	return s.view(worker), nil
}

func (s *session) Probe(_ context.Context, workers []int) ([]protocol.Probe, error) {
	defer s.lock()()
	probes := make([]protocol.Probe, len(workers))
	for i, id := range workers {
		probes[i].Slot = s.slots[id]
	}
	return probes, nil
}

func (s *session) Commit(_ context.Context, c protocol.Change) (protocol.Outcome, error) {
	defer s.lock()()
	id := c.Worker()
	now, end := s.view(id), s.Time()+s.ttl.Microseconds()
	switch {
	case now.Meta.Version != c.Before.Meta.Version, c.Unused && len(s.slots)+len(s.marks) > 0,
		c.Owner == protocol.OwnerTaken && c.Token != c.Replaced && s.workerOf(c.Token) >= 0:
		return protocol.Outcome{Position: s.at, Now: now, Conflict: protocol.ConflictElsewhere}, nil
	case now.Slot.Version != c.Before.Slot.Version, now.Owned != c.Before.Owned:
		return protocol.Outcome{Position: s.at, Now: now, Conflict: protocol.ConflictSlot}, nil
	}
	s.at.Number++
	if c.Meta != nil {
		s.meta = put(s.meta, *c.Meta, s.at.Number)
	}
	if c.Slot != nil {
		s.slots[id] = put(s.slots[id], *c.Slot, s.at.Number)
	}
	taker, former := c.Identities()
	if s.last[former] == id {
		delete(s.last, former)
	}
	if taker != "" {
		s.last[taker] = id
	}
	switch c.Owner {
	case protocol.OwnerStays:
		if m := s.marks[id]; m != nil && c.Slot != nil {
			m.end = end
		}
	case protocol.OwnerTaken:
		s.own(id, &mark{c.Token, end, make(chan struct{})})
	case protocol.OwnerFreed:
		s.own(id, nil)
	case protocol.OwnerForever:
		s.own(id, &mark{"", math.MaxInt64, make(chan struct{})})
	}
	at := protocol.Position{Number: s.at.Number, Wrote: true}
	return protocol.Outcome{Position: at, Done: true, Now: s.view(id)}, nil
}

func (s *session) Leases(_ context.Context, holders []protocol.Holder) (leases []protocol.Lease) {
	defer s.lock()()
	for _, h := range holders {
		if m, slot := s.marks[h.Worker], s.slots[h.Worker].Record; m != nil {
			left := time.Duration(m.end-s.Time()) * time.Microsecond
			l := protocol.Lease{Worker: h.Worker, Mark: fmt.Sprint(m.end), Renewed: slot.Renewed, TTL: slot.Lease(), Left: left}
			leases = append(leases, l)
		}
	}
	return leases
}

func (s *session) List(context.Context, bool) (*protocol.Listing, error) {
	defer s.lock()()
	l := &protocol.Listing{Position: s.at, Meta: s.meta, Owned: slices.Sorted(maps.Keys(s.marks))}
	for _, id := range slices.Sorted(maps.Keys(s.slots)) {
		l.Slots = append(l.Slots, s.slots[id].Record)
	}
	return l, nil
}

// Watch notices that a lease is over when another call does: what it says is a hint.
func (s *session) Watch(ctx context.Context, v *protocol.View) bool {
	m, _ := v.Lease.(*mark)
	if m == nil {
		return true
	}
	select {
	case <-m.gone:
		return true
	case <-s.life.Done():
	case <-ctx.Done():
	}
	return false
}

func (s *session) Holds(v *protocol.View) bool { return v.Owned }
func (s *session) Time() int64                 { return s.clock.UnixMicro() }
func (s *session) Over() error                 { return s.life.Err() }
func (s *session) End()                        { s.end() }

// lock locks the store and deletes the marks whose leases are over.
func (s *Store) lock() (unlock func()) {
	s.mu.Lock()
	for id, m := range s.marks {
		if m.end <= s.clock.UnixMicro() {
			s.own(id, nil)
		}
	}
	return s.mu.Unlock
}

// view is what is stored of a worker ID; -1: of the namespace alone.
func (s *Store) view(id int) *protocol.View {
	m, owned := s.marks[id]
	return &protocol.View{Position: s.at, Meta: s.meta, Slot: s.slots[id], Owned: owned, Lease: m}
}

// workerOf returns the worker ID that a token holds; -1: none.
func (s *Store) workerOf(token string) int {
	for id, m := range s.marks {
		if token != "" && m.token == token {
			return id
		}
	}
	return -1
}

// own replaces the mark of a worker ID; nil deletes it.
func (s *Store) own(id int, m *mark) {
	if old := s.marks[id]; old != nil {
		close(old.gone)
		delete(s.marks, id)
	}
	if m != nil {
		s.marks[id] = m
	}
}

// put returns what replaces an entry in a write.
func put[R protocol.Record](old protocol.Entry[R], r R, number int64) protocol.Entry[R] {
	return protocol.Entry[R]{Record: r, Made: cmp.Or(old.Made, number), Version: number}
}
