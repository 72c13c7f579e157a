package filestore

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/protocol"
)

// watched is a store whose sessions have something done before the n-th call.
type watched struct {
	*Store
	calls sync.Mutex
	left  int    // calls until then; 0: nothing is to be done
	act   func() // nil: the answer to that call is lost
	done  bool
}

// Open implements protocol.Store.
func (w *watched) Open(token string, ttl time.Duration, workers int) (protocol.Session, error) {
	s, err := w.Store.Open(token, ttl, workers)
	return watchedSession{s, w}, err
}

// call is called before each call of a session, and reports whether its answer is lost.
func (w *watched) call() (lost bool) {
	w.calls.Lock()
	defer w.calls.Unlock()
	if w.left == 0 {
		return false
	}
	if w.left--; w.left > 0 {
		return false
	}
	if w.act != nil {
		w.act()
	}
	w.done = true
	return w.act == nil
}

// made makes a call of a session.
func made[T any](w *watched, call func() (T, error)) (answer T, err error) {
	lost := w.call()
	if answer, err = call(); lost && err == nil {
		err = errors.New("the answer is lost")
	}
	return answer, err
}

// before has act called before the n-th call from now on; nil: the answer to that is lost.
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
	return made(s.w, func() (*protocol.Survey, error) { return s.Session.Survey(ctx, ask) })
}

func (s watchedSession) Look(ctx context.Context, worker int,
	token string,
) (*protocol.View, error) {
	return made(s.w, func() (*protocol.View, error) { return s.Session.Look(ctx, worker, token) })
}

func (s watchedSession) Probe(ctx context.Context, workers []int) ([]protocol.Probe, error) {
	return made(s.w, func() ([]protocol.Probe, error) { return s.Session.Probe(ctx, workers) })
}

func (s watchedSession) Commit(ctx context.Context, c protocol.Change) (protocol.Outcome, error) {
	return made(s.w, func() (protocol.Outcome, error) { return s.Session.Commit(ctx, c) })
}

// newCoordinator returns a coordinator over a store, in a file that is not taken for a lost one.
func newCoordinator(tb testing.TB, s protocol.Store) *protocol.Coordinator {
	tb.Helper()
	c, err := protocol.New(s, protocol.Settings{
		Driver: "file", Title: "the file", Namespace: "n", MinTTL: time.Second,
		MaxHorizon: time.Minute, SkewBound: time.Second, OneMachine: true, ServerClock: true,
		Clock: clock.System(),
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

// TestBetween runs the suite's cases in which something happens between two calls of one operation;
// an older copy is put back, for one.
func TestBetween(t *testing.T) {
	coordtest.RunBetween(t, func(tb testing.TB) coordtest.BetweenHarness {
		tb.Helper()
		path, stores := tb.TempDir()+"/ids", map[coord.Coordinator]*watched{}
		return coordtest.BetweenHarness{
			Harness: coordtest.Harness{
				Client: func(tb testing.TB, _ coord.Range) coord.Coordinator {
					tb.Helper()
					w := &watched{Store: newStore(path)}
					c := newCoordinator(tb, w)
					stores[c] = w
					return c
				},
				Expire: func(tb testing.TB, g coord.Grant) {
					tb.Helper()
					op, _ := newStore(path).Open("", time.Second, 0)
					expire := func(d *State, save func() error) (any, error) {
						delete(d.Marks, g.WorkerID)
						return nil, save()
					}
					_, err := with(tb.Context(), op.(*session), change, expire)
					if err != nil {
						tb.Fatal(err)
					}
				},
				RaiseFloor: func(tb testing.TB, tick int64) {
					tb.Helper()
					drivertest.RaiseFloor(tb, newCoordinator(tb, newStore(path)), tick)
				},
				Sticky: true,
			},
			Lose: func(tb testing.TB) func() {
				tb.Helper()
				b, err := os.ReadFile(path)
				if err != nil && !errors.Is(err, os.ErrNotExist) {
					tb.Fatal(err)
				}
				return func() {
					err := os.Remove(path)
					if b != nil {
						err = os.WriteFile(path, b, 0o600)
					}
					if err != nil {
						tb.Error(err)
					}
				}
			},
			LoseReply: func(_ testing.TB, c coord.Coordinator, n int) func() bool {
				return stores[c].before(n, nil)
			},
			Before: func(_ testing.TB, c coord.Coordinator, n int, act func()) func() bool {
				return stores[c].before(n, act)
			},
		}
	})
}
