package toystore

import (
	"context"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/protocol"
)

// watched is a store whose sessions have something done before the n-th call.
type watched struct {
	*Store
	calls sync.Mutex
	left  int // calls until then; 0: nothing is to be done
	act   func()
	done  bool
}

// Open implements protocol.Store.
func (w *watched) Open(token string, ttl time.Duration, workers int) (protocol.Session, error) {
	s, err := w.Store.Open(token, ttl, workers)
	return watchedSession{s, w}, err
}

// call is called before each call of a session.
func (w *watched) call() {
	w.calls.Lock()
	defer w.calls.Unlock()
	if w.left == 0 {
		return
	}
	if w.left--; w.left == 0 {
		w.act()
		w.done = true
	}
}

// before has act called before the n-th call from now on.
func (w *watched) before(n int, act func()) (acted func() bool) {
	w.calls.Lock()
	defer w.calls.Unlock()
	w.left, w.act, w.done = n, act, false
	return func() bool {
		w.calls.Lock()
		defer w.calls.Unlock()
		w.left = 0
		return w.done
	}
}

// watchedSession is a session of a watched store.
type watchedSession struct {
	protocol.Session
	w *watched
}

func (s watchedSession) Survey(ctx context.Context, ask protocol.Ask) (*protocol.Survey, error) {
	s.w.call()
	return s.Session.Survey(ctx, ask)
}

func (s watchedSession) Look(ctx context.Context, worker int, token string) (*protocol.View, error) {
	s.w.call()
	return s.Session.Look(ctx, worker, token)
}

func (s watchedSession) Probe(ctx context.Context, workers []int) ([]protocol.Probe, error) {
	s.w.call()
	return s.Session.Probe(ctx, workers)
}

func (s watchedSession) Commit(ctx context.Context, c protocol.Change) (protocol.Outcome, error) {
	s.w.call()
	return s.Session.Commit(ctx, c)
}

// backup returns what puts a store back to what it holds now.
func (s *Store) backup() (restore func()) {
	defer s.lock()()
	at, meta, slots, last := s.at, s.meta, maps.Clone(s.slots), maps.Clone(s.last)
	marks := map[int]mark{}
	for id, m := range s.marks {
		marks[id] = *m
	}
	return func() {
		defer s.lock()()
		s.at, s.meta, s.slots, s.last = at, meta, slots, last
		for id := range s.marks {
			s.own(id, nil)
		}
		for id, m := range marks {
			s.own(id, &mark{m.token, m.end, make(chan struct{})})
		}
	}
}

// TestBetween runs the suite's cases in which something happens between two calls of one
// operation.
func TestBetween(t *testing.T) {
	coordtest.RunBetween(t, func(tb testing.TB) coordtest.BetweenHarness {
		tb.Helper()
		s, stores := New(clock.System()), map[coord.Coordinator]*watched{}
		h := harness(s)
		h.Client = func(tb testing.TB, _ coord.Range) coord.Coordinator {
			tb.Helper()
			w := &watched{Store: s}
			c := newCoordinator(tb, w)
			stores[c] = w
			return c
		}
		return coordtest.BetweenHarness{
			Harness: h,
			Lose:    func(testing.TB) func() { return s.backup() },
			Before: func(_ testing.TB, c coord.Coordinator, n int, act func()) func() bool {
				return stores[c].before(n, act)
			},
		}
	})
}
