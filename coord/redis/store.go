package redis

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

// store implements [protocol.Store].
type store struct {
	client    goredis.UniversalClient
	key       string
	namespace string
	at        string // where the client connects to
	secure    bool   // made with a URL that asks for TLS
	log       *slog.Logger
	life      context.Context //nolint:containedctx // for calls that outlast theirs
	warned    atomic.Bool     // of the server's settings

	mu      sync.Mutex
	server  int64     // its clock, when it was learned; 0: it was not
	learned time.Time // monotonic
}

// session is the store, as one token sees it. There is nothing to end: leases end by the server's
// clock.
type session struct {
	*store
	ttl  time.Duration
	life context.Context //nolint:containedctx // it is ended by End
	end  context.CancelFunc
}

// Open implements [protocol.Store].
func (s *store) Open(_ string, ttl time.Duration, _ int) (protocol.Session, error) {
	life, end := context.WithCancel(context.Background())
	return &session{s, ttl, life, end}, nil
}

// Over implements [protocol.Session].
func (s *session) Over() error { return s.life.Err() }

// End implements [protocol.Session].
func (s *session) End() { s.end() }

// Holds implements [protocol.Session]: any session keeps a lease alive.
func (s *session) Holds(v *protocol.View) bool { return v.Owned }

// Time implements [protocol.Session].
func (s *store) Time() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server == 0 {
		return 0
	}
	return s.server + lifetime.Since(s.learned).Microseconds()
}

// Look implements [protocol.Session].
func (s *session) Look(ctx context.Context, worker int, _ string) (*protocol.View, error) {
	a, err := s.do(ctx, request{Get: fieldsOf(worker)})
	if err != nil {
		return nil, err
	}
	return s.view(a, worker)
}

// fieldsOf are those that have what is stored of a worker ID; -1: of none.
func fieldsOf(worker int) []string {
	if worker < 0 {
		return []string{fieldMeta}
	}
	return []string{fieldMeta, strconv.Itoa(worker), page(worker)}
}

// Probe implements [protocol.Session].
func (s *session) Probe(ctx context.Context, workers []int) ([]protocol.Probe, error) {
	get := []string{fieldMeta}
	for _, id := range workers {
		get = append(get, strconv.Itoa(id))
	}
	a, err := s.do(ctx, request{Get: get})
	if err != nil {
		return nil, err
	}
	out := make([]protocol.Probe, len(workers))
	for i, id := range workers {
		out[i].Slot, out[i].Err = s.slot(a, id)
	}
	return out, nil
}

// Leases implements [protocol.Session].
func (s *session) Leases(ctx context.Context, holders []protocol.Holder) (out []protocol.Lease) {
	ids := make([]int, len(holders))
	for i, h := range holders {
		ids[i] = h.Worker
	}
	slots, err := s.Probe(ctx, ids)
	if err != nil {
		return nil
	}
	now := s.Time()
	for i, h := range holders {
		if l, ok := h.Lease.(lease); ok && slots[i].Err == nil {
			slot := slots[i].Slot.Record
			out = append(out, protocol.Lease{
				Worker: h.Worker, Renewed: slot.Renewed, TTL: slot.Lease(),
				Left: max(time.Duration(l.ends-now)*time.Microsecond, 0),
			})
		}
	}
	return out
}

// List implements [protocol.Session].
func (s *session) List(ctx context.Context, slots bool) (*protocol.Listing, error) {
	r := request{Get: fieldsOf(-1)}
	if slots {
		r.Match = allSlots
	}
	a, err := s.do(ctx, r)
	if err != nil {
		return nil, err
	}
	l := &protocol.Listing{Position: a.Position}
	if l.Meta, err = s.meta(a); err != nil || !slots {
		return l, err
	}
	for field := range a.values {
		id, err := strconv.Atoi(field)
		if err != nil {
			continue
		}
		e, err := s.slot(a, id)
		if err != nil {
			l.Unreadable = append(l.Unreadable, err)
			continue
		}
		l.Slots = append(l.Slots, e.Record)
	}
	slices.SortFunc(l.Slots, func(a, b protocol.Slot) int { return a.Worker - b.Worker })
	for _, held := range a.held(everybody) {
		l.Owned = append(l.Owned, held.worker)
	}
	return l, nil
}

// looks is how often a watch looks within a TTL. A renewal tells as much, so it is rarer.
const looks = 2

// Watch implements [protocol.Session]. It asks again and again: Redis tells nobody when a lease
// ends.
func (s *session) Watch(ctx context.Context, v *protocol.View) bool {
	ticker := time.NewTicker(s.ttl / looks)
	defer ticker.Stop()
	slot := v.Slot.Record
	for v.Owned && v.Slot.Record.Holds(slot.Token, slot.Generation) {
		select {
		case <-ctx.Done():
			return false
		case <-s.life.Done():
			return false
		case <-ticker.C:
		}
		if now, err := s.Look(ctx, slot.Worker, ""); err == nil {
			v = now
		}
	}
	return true
}
