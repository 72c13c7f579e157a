package kubernetes

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// stormWorkers is how many worker IDs there are, and stormMore how many processes more than that
// want one until it is calm.
const stormWorkers, stormMore = 5, 4

// storm is a network that loses requests and answers and delivers writes late, with processes that
// come and go, and an administrator who deletes Leases.
type storm struct {
	*fakeAPI
	t          *testing.T
	calm, over atomic.Bool
	abandoned  sync.WaitGroup // requests that are under way when nobody waits for them

	mu   sync.Mutex
	rand *rand.Rand
	ids  map[core.ID]int // who has issued it
}

// stormLink is how one process reaches the API server.
type stormLink struct {
	*storm
	dead atomic.Bool
}

var errStorm = errors.New("the network has lost it")

// n is a random number below a limit, and ms are as many milliseconds.
func (s *storm) n(limit int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rand.IntN(limit)
}

func (s *storm) ms(limit int) time.Duration { return time.Duration(s.n(limit)) * time.Millisecond }

// RoundTrip implements [http.RoundTripper].
func (l *stormLink) RoundTrip(r *http.Request) (*http.Response, error) {
	fate, d := l.n(100), l.ms(30)
	switch calm := l.calm.Load(); {
	case l.dead.Load(), !calm && fate < 3:
		return nil, errStorm
	case calm:
		fate = 100
	case fate < 5:
		return l.failed(r, http.StatusServiceUnavailable, "ServiceUnavailable", "busy")
	case fate < 7 && r.Method != http.MethodGet: // it is late
		wait, later := l.ms(20_000), r.Clone(context.Background())
		l.abandoned.Go(func() {
			time.Sleep(wait)
			_, _ = l.fakeAPI.RoundTrip(later)
		})
		return nil, errStorm
	case fate < 9:
		d = l.ms(8000)
	}
	select {
	case <-time.After(d):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	resp, err := l.fakeAPI.RoundTrip(r)
	if fate < 12 { // the answer is lost
		return nil, errStorm
	}
	return resp, err
}

// live is the life of one process. It reports whether it was the last one, which has to have had
// IDs in the calm.
func (s *storm) live(who int) bool {
	l, quiet := &stormLink{storm: s}, slog.New(slog.DiscardHandler)
	own := clocktest.NewShifted(s.clock.Time().Add(s.ms(800) - 400*time.Millisecond))
	c, err := New(&http.Client{Transport: l}, "http://h", "orders",
		Options{In: "shop", Clock: own, Logger: quiet})
	if err != nil {
		s.t.Error(err)
		return true
	}
	defer func() { _ = c.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	g, err := core.New(ctx, c, core.Config{Clock: own, Logger: quiet, Lease: coord.LeaseConfig{
		TTL: 3 * time.Second, Horizon: 6 * time.Second, RenewEvery: time.Second,
		WorkerIDs: coord.Range{Count: stormWorkers},
	}})
	if err != nil {
		return s.over.Load()
	}
	stays, ends, calm, last := who < stormWorkers, time.Now().Add(s.ms(30_000)), 0, core.ID(0)
	for !s.over.Load() && (time.Now().Before(ends) || stays && s.calm.Load()) {
		id, e := g.Next()
		if err = e; e == nil {
			s.issue(id, last, who)
			if last = id; s.calm.Load() {
				calm++
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	over := s.over.Load()
	if over && calm == 0 && stays {
		s.t.Errorf("process %d has had no ID since the storm ended: %v", who, err)
	}
	l.dead.Store(!over && s.n(2) == 0)
	ctx, cancel = context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = g.Close(ctx)
	return over
}

// issue takes note of an ID that was issued.
func (s *storm) issue(id, last core.ID, who int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if other, is := s.ids[id]; is || id <= last {
		safetytest.Of(s.t).Errorf("ID %d was issued by %d and %d (%t), after %d", id, other, who, is,
			last)
	}
	s.ids[id] = who
}

// administrate does what an administrator or operator does. What demands a quarantine of two
// minutes is rare, so that there is something to be done in between.
func (s *storm) administrate() {
	meta, old := SlotName("orders", -1), lease{}
	for !s.calm.Load() {
		time.Sleep(s.ms(30_000))
		what, rare, slot := s.n(8), s.n(8) == 0, SlotName("orders", s.n(stormWorkers))
		s.fakeAPI.mu.Lock()
		now, there := s.leases[meta]
		switch {
		case !there:
		case what == 0 && rare:
			delete(s.leases, slot)
		case what == 1 && rare:
			delete(s.leases, meta)
		case what == 2 && rare && s.leases[slot].Metadata.UID != "":
			s.copied(slot)
		case what == 3 && rare:
			s.copied(meta)
		case what == 4:
			old = now
		case what == 5 && old.Metadata.UID == now.Metadata.UID:
			s.leases[meta] = old
		}
		s.fakeAPI.mu.Unlock()
		if what > 5 { // an operator, who may die half way
			ctx, cancel := context.WithTimeout(context.Background(), s.ms(4000))
			_, _ = s.openBy(s.t, &stormLink{storm: s}).Quarantine(ctx, s.clock.Time())
			cancel()
		}
	}
}

// TestStorm: whatever the network and administrators do, no ID is issued twice, and afterwards
// everybody has IDs again.
func TestStorm(t *testing.T) {
	for seed := range uint64(fulltest.Rounds(1, 100)) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &storm{
					fakeAPI: newFakeAPI(), t: t, rand: rand.New(rand.NewPCG(seed, 1)),
					ids: map[core.ID]int{},
				}
				var all sync.WaitGroup
				for who := range stormWorkers + stormMore {
					all.Go(func() {
						for !s.live(who) && (who < stormWorkers || !s.calm.Load()) {
							time.Sleep(s.ms(300))
						}
					})
				}
				all.Go(s.administrate)
				time.Sleep(time.Duration(fulltest.Rounds(4, 8)) * time.Minute)
				s.calm.Store(true)
				time.Sleep(4 * time.Minute)
				s.over.Store(true)
				all.Wait()
				s.abandoned.Wait()
				t.Logf("%d IDs; %v", len(s.ids), s.counts)
			})
		})
	}
}
