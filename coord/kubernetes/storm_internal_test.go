package kubernetes

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// storm is a network that loses requests and answers and delivers writes late, with processes that
// come and go, and an administrator who deletes Leases.
type storm struct {
	*fakeAPI
	t *testing.T

	mu    sync.Mutex
	rand  *rand.Rand
	calm  bool
	over  bool
	ids   map[core.ID]int // who has issued it
	late  sync.WaitGroup  // requests that are under way when nobody waits for them
	fates map[string]int
	done  [10]int // what administrators and operators have done
}

// link is how one process reaches the API server.
type stormLink struct {
	*storm
	mu   sync.Mutex
	dead bool
}

var errStorm = errors.New("the network has lost it")

// n is a random number below a limit.
func (s *storm) n(limit int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rand.IntN(limit)
}

// pick is the fate of a request, and how long it takes.
func (l *stormLink) pick() (fate string, d time.Duration) {
	l.storm.mu.Lock()
	defer l.storm.mu.Unlock()
	d = time.Duration(l.rand.IntN(30)) * time.Millisecond
	if l.calm {
		return "done", d
	}
	switch n := l.rand.IntN(100); {
	case n < 3:
		fate = "lost"
	case n < 6:
		fate = "reply lost"
	case n < 8:
		fate = "late"
	case n < 10:
		fate = "busy"
	case n < 12:
		fate, d = "done", time.Duration(l.rand.IntN(8000))*time.Millisecond
	default:
		fate = "done"
	}
	l.fates[fate]++
	return fate, d
}

// RoundTrip implements [http.RoundTripper].
func (l *stormLink) RoundTrip(r *http.Request) (*http.Response, error) {
	fate, d := l.pick()
	l.mu.Lock()
	dead := l.dead
	l.mu.Unlock()
	if dead || fate == "lost" {
		return nil, errStorm
	}
	if fate == "busy" {
		return l.failed(r, http.StatusServiceUnavailable, "ServiceUnavailable", "busy")
	}
	if fate == "late" && r.Method != http.MethodGet {
		wait := time.Duration(l.n(20000)) * time.Millisecond
		later := r.Clone(context.Background())
		l.late.Go(func() {
			time.Sleep(wait)
			_, _ = l.fakeAPI.RoundTrip(later)
		})
		return nil, errStorm
	}
	select {
	case <-time.After(d):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	resp, err := l.fakeAPI.RoundTrip(r)
	if fate == "reply lost" {
		if resp != nil {
			_ = resp.Body.Close()
		}
		return nil, errStorm
	}
	return resp, err
}

// process is one process after the other, until the storm is over; then the last of them has to
// have IDs.
func (s *storm) process(who int) {
	for life := 0; ; life++ {
		s.mu.Lock()
		over := s.over || s.calm && who >= stormWorkers
		s.mu.Unlock()
		if over {
			return
		}
		if s.live(who) {
			return
		}
		time.Sleep(time.Duration(s.n(300)) * time.Millisecond)
	}
}

// live is the life of one process. It reports whether it has lived in the calm, and had IDs there.
func (s *storm) live(who int) bool {
	l := &stormLink{storm: s}
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	own := clocktest.NewShifted(s.clock.Time().Add(time.Duration(s.n(800)-400) * time.Millisecond))
	c, err := New(&http.Client{Transport: l}, "http://h", "orders", Options{In: "shop", Clock: own, Logger: quiet})
	if err != nil {
		s.t.Error(err)
		return true
	}
	defer func() { _ = c.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	layout := core.DefaultLayout()
	cfg := core.Config{Layout: layout, Clock: own, Logger: quiet}
	cfg.Lease = coord.LeaseConfig{TTL: 3 * time.Second, Horizon: 6 * time.Second, RenewEvery: time.Second, WorkerIDs: coord.Range{Count: stormWorkers}}
	g, err := core.New(ctx, c, cfg)
	if err != nil {
		return false
	}
	ends := time.Now().Add(time.Duration(s.n(30)) * time.Second)
	calm, last := 0, core.ID(0)
	for {
		id, err := g.Next()
		s.mu.Lock()
		if other, is := s.ids[id]; err == nil && is {
			s.t.Errorf("ID %d was issued by %d and %d", id, other, who)
		}
		if err == nil {
			if id <= last {
				s.t.Errorf("ID %d of %d is not above %d", id, who, last)
			}
			s.ids[id], last = who, id
			if s.calm {
				calm++
			}
		}
		over, isCalm := s.over, s.calm
		s.mu.Unlock()
		switch {
		case over && calm == 0 && who < stormWorkers:
			s.t.Errorf("process %d has had no ID since the storm ended: %v", who, err)
			fallthrough
		case over:
			_ = g.Close(context.Background())
			return true
		case time.Now().After(ends) && (!isCalm || who >= stormWorkers):
			if s.n(2) == 0 { // it dies
				l.mu.Lock()
				l.dead = true
				l.mu.Unlock()
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			_ = g.Close(ctx)
			cancel()
			return false
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// stormWorkers is how many worker IDs there are, and stormMore how many processes more than that
// want one until it is calm.
const stormWorkers, stormMore = 5, 4

// administrate does what an administrator or operator does.
func (s *storm) administrate() {
	old := map[string]lease{}
	for n := 0; ; n++ {
		time.Sleep(time.Duration(s.n(30_000)) * time.Millisecond)
		s.mu.Lock()
		calm := s.calm
		s.mu.Unlock()
		if calm {
			return
		}
		s.fakeAPI.mu.Lock()
		names := slices.Sorted(maps.Keys(s.leases))
		meta := SlotName("orders", -1)
		slot := SlotName("orders", s.n(stormWorkers))
		if len(names) == 0 || len(names) <= stormWorkers {
			s.fakeAPI.mu.Unlock()
			continue
		}
		what := s.harm(9)
		s.done[what]++
		switch what {
		case 0:
			delete(s.leases, slot)
		case 1:
			delete(s.leases, meta)
		case 2:
			s.copied(slot)
		case 3:
			s.copied(meta)
		case 4:
			delete(s.leases, slot)
			delete(s.leases, meta)
		case 5:
			old[meta] = s.leases[meta]
		case 6:
			if l, ok := old[meta]; ok && s.leases[meta].Metadata.UID == l.Metadata.UID {
				s.leases[meta] = l
			}
		}
		s.fakeAPI.mu.Unlock()
		if what > 6 {
			s.raise()
		}
	}
}

// harm is what is done next: what demands a quarantine of two minutes is rare, so that there is
// something to be done in between.
func (s *storm) harm(kinds int) int {
	if what := s.n(kinds); what > 4 || s.n(8) == 0 {
		return what
	}
	return kinds
}

// raise raises the floor a little, as an operator does who may die half way.
func (s *storm) raise() {
	c := s.openBy(s.t, &stormLink{storm: s})
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(s.n(4000))*time.Millisecond)
	defer cancel()
	_, _ = c.Quarantine(ctx, s.clock.Time())
}

// TestStorm: whatever the network and administrators do, no ID is issued twice, and afterwards
// everybody has IDs again.
func TestStorm(t *testing.T) {
	first := uint64(1)
	for seed := first; seed < first+uint64(fulltest.Rounds(1, 100)); seed++ {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &storm{fakeAPI: newFakeAPI(), t: t, rand: rand.New(rand.NewPCG(seed, 1)), ids: map[core.ID]int{}, fates: map[string]int{}}
				var all sync.WaitGroup
				for who := range stormWorkers + stormMore {
					all.Go(func() { s.process(who) })
				}
				all.Go(s.administrate)
				time.Sleep(time.Duration(fulltest.Rounds(4, 8)) * time.Minute)
				s.mu.Lock()
				s.calm = true
				before := len(s.ids)
				s.mu.Unlock()
				time.Sleep(4 * time.Minute)
				s.mu.Lock()
				s.over = true
				s.mu.Unlock()
				all.Wait()
				s.late.Wait()
				t.Logf("%d IDs, %d of them in the storm; %v, %v, %v", len(s.ids), before, s.counts, s.fates, s.done)
			})
		})
	}
}
