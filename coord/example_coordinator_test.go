package coord_test

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// inMemory is a coordinator of one's own: it leases worker IDs to the goroutines of a process.
type inMemory struct {
	mu     sync.Mutex
	slots  map[int]slot
	closed error
}

type slot struct { // what is stored of a worker ID
	req   coord.Request // the last one
	grant coord.Grant   // what it got; the token is empty when that was released
	ends  time.Time     // of the lease
}

func (m *inMemory) Acquire(ctx context.Context, req coord.Request) (g coord.Grant, err error) {
	defer m.lock()()
	if err := cmp.Or(m.closed, ctx.Err(), req.Validate()); err != nil {
		return g, err
	}
	free := -1
	for id := req.Workers.First; id < req.Workers.First+req.Workers.Count; id++ {
		switch s := m.slots[id]; {
		case s.grant.Token == req.Token: // the first reply was lost
			return s.grant, nil
		case s.req.Token != "" && s.req.Fingerprint != req.Fingerprint:
			return g, &coord.LayoutMismatchError{Stored: s.req.Fingerprint, Wanted: req.Fingerprint}
		case time.Now().After(s.ends) && (free < 0 || s.grant.NotAfter < g.NotAfter):
			free, g = id, s.grant
		}
	}
	if free < 0 {
		return g, coord.ErrNoWorkerID
	}
	g = coord.Grant{
		WorkerID: free, Generation: g.Generation + 1, Token: req.Token,
		NotBefore: g.NotAfter,
	}
	g.NotAfter = max(g.NotBefore, min(req.Until, req.LastTick))
	m.slots[free] = slot{req, g, time.Now().Add(req.TTL)}
	return g, nil
}

func (m *inMemory) Renew(ctx context.Context, g coord.Grant, until int64) (coord.Grant, error) {
	return m.change(ctx, g, func(s *slot) {
		s.grant.NotAfter = max(s.grant.NotAfter, min(until, s.req.LastTick))
		s.ends = time.Now().Add(s.req.TTL)
	})
}

func (m *inMemory) Release(ctx context.Context, g coord.Grant, last int64) error {
	_, err := m.change(ctx, g, func(s *slot) {
		s.grant.NotAfter = min(s.grant.NotAfter, max(last, s.grant.NotBefore))
		s.grant.Token, s.ends = "", time.Time{}
	})
	return err
}

func (m *inMemory) change(ctx context.Context, g coord.Grant, by func(*slot)) (coord.Grant, error) {
	defer m.lock()()
	s := m.slots[g.WorkerID]
	same := g.Token != "" && g.Token == s.grant.Token && g.Generation == s.grant.Generation
	if err := cmp.Or(m.closed, ctx.Err()); err != nil || !same {
		return g, cmp.Or(err, coord.ErrLeaseLost)
	}
	by(&s)
	m.slots[g.WorkerID] = s
	return s.grant, nil
}

func (m *inMemory) Close() error { defer m.lock()(); m.closed = coord.ErrClosed; return nil }

func (m *inMemory) lock() func() { m.mu.Lock(); return m.mu.Unlock }
