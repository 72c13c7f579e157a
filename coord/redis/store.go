package redis

import (
	"context"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

// store implements [protocol.Store].
type store struct {
	clients   *lifetime.Rotation[connections]
	namespace string
	at        string // where the client connects to
	secure    bool   // made with a URL that asks for TLS
	durable   bool   // a restart loses nothing
	log       *slog.Logger
	life      context.Context //nolint:containedctx // for calls that outlast theirs
	warned    atomic.Bool     // of the server's settings

	protocol.ServerClock
}

// Close implements [io.Closer] for the coordinator. A client that was passed to [New] stays as it
// is; a call that hangs in that client ends there with the client's ReadTimeout, or when the client
// is closed.
func (s *store) Close() error {
	s.clients.Close()
	return nil
}

// connections implements [lifetime.Pool].
type connections struct {
	goredis.UniversalClient
	namespace string
}

// Connect implements [lifetime.Pool]. It reads what every call reads, so that a replica fails.
func (c connections) Connect(ctx context.Context) error {
	_, err := run(ctx, c.UniversalClient, []any{keyOf(c.namespace)}, []byte(`{"get":["meta"]}`))
	return err
}

// Connections implements [lifetime.Pool]. The client of a Cluster is never replaced, because its
// nodes say where a slot is. To count its connections it would ask them, for as long as that takes.
func (c connections) Connections() int {
	if client, ok := c.UniversalClient.(*goredis.Client); ok {
		return int(client.PoolStats().TotalConns)
	}
	return 0
}

// Close implements [lifetime.Pool].
func (c connections) Close() { _ = c.UniversalClient.Close() }

// session is the store, as one token sees it.
type session struct {
	*store
	protocol.Timed
	ttl time.Duration
}

// Open implements [protocol.Store].
func (s *store) Open(_ string, ttl time.Duration, _ int) (protocol.Session, error) {
	return &session{s, protocol.NewTimed(), ttl}, nil
}

// Look implements [protocol.Session].
func (s *session) Look(ctx context.Context, worker int, _ string) (*protocol.View, error) {
	a, err := s.do(ctx, request{Get: fieldsOf(worker), id: strconv.Itoa(worker)})
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
	return []string{fieldMeta, strconv.Itoa(worker)}
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

// Leases implements [protocol.Session]. The first of the holders are those whose leases end first.
func (s *session) Leases(ctx context.Context, holders []protocol.Holder) (out []protocol.Lease) {
	holders = holders[:min(len(holders), looked)]
	ids := make([]int, len(holders))
	for i, h := range holders {
		ids[i] = h.Worker
	}
	slots, err := s.Probe(ctx, ids)
	if err != nil {
		return nil
	}
	now := s.Time().Low // a lease lasts no longer than this says
	for i, h := range holders {
		if slots[i].Err == nil {
			slot := slots[i].Slot.Record
			out = append(out, protocol.Lease{
				Worker: h.Worker, Renewed: slot.Renewed, TTL: slot.Lease(),
				Left: max(time.Duration(h.Changed-now)*time.Microsecond, 0),
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
	for id := range l.Meta.Record.Capacity {
		switch e, err := s.slot(a, id); {
		case err != nil:
			l.Unreadable = append(l.Unreadable, err)
		case e.There():
			l.Slots = append(l.Slots, e.Record)
		}
		if a.ends(id) != 0 {
			l.Owned = append(l.Owned, id)
		}
	}
	return l, nil
}

// Watch implements [protocol.Session].
func (s *session) Watch(ctx context.Context, v *protocol.View) bool {
	return s.WatchByLooking(ctx, s.ttl, v, func(ctx context.Context) (*protocol.View, error) {
		return s.Look(ctx, v.Slot.Record.Worker, "")
	})
}
