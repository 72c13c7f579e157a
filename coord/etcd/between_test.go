package etcd_test

import (
	"context"
	"crypto/rand"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// interrupter makes something happen before one of a client's calls, or in place of its answer.
type interrupter struct {
	mu   sync.Mutex
	left int    // calls until then; 0: none is waited for
	act  func() // nil: the answer to that call is lost
	done bool
	down bool // calls fail at once
}

// before has act called before the n-th call from now on, and reports whether it was.
func (i *interrupter) before(n int, act func()) (acted func() bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.left, i.act, i.done = n, act, false
	return func() bool {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.left = 0
		return i.done
	}
}

// call is called before each call. Others wait meanwhile. It reports whether the call fails at
// once, and whether its answer is lost.
func (i *interrupter) call() (fails, lost bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.left > 0 {
		if i.left--; i.left == 0 {
			i.done, lost = true, i.act == nil
			if !lost {
				i.act()
			}
		}
	}
	return i.down, lost
}

// setDown has calls fail from now on, or not any more.
func (i *interrupter) setDown(down bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.down = down
}

func (i *interrupter) option() grpc.DialOption {
	return intercept(func(_ context.Context, _ string, _ any, call func() error) error {
		fails, lost := i.call()
		if fails {
			return status.Error(codes.Unavailable, "down")
		}
		err := call()
		if lost && err == nil {
			err = status.Error(codes.Unavailable, "the answer is lost")
		}
		return err
	})
}

// TestBetween: something happens between two calls of one operation.
func TestBetween(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	operator := server.Client(t)
	coordtest.RunBetween(t, func(tb testing.TB) coordtest.BetweenHarness {
		tb.Helper()
		ns := rand.Text()
		interrupters := map[coord.Coordinator]*interrupter{}
		return coordtest.BetweenHarness{
			Harness: coordtest.Harness{
				Client: func(tb testing.TB, _ coord.Range) coord.Coordinator {
					tb.Helper()
					i := new(interrupter)
					c := newCoordinator(tb, server.Client(tb, i.option()), ns)
					interrupters[c] = i
					return c
				},
				Expire: func(tb testing.TB, g coord.Grant) {
					tb.Helper()
					endLease(tb, operator, ns, g.WorkerID)
				},
				RaiseFloor: func(tb testing.TB, tick int64) { tb.Helper(); raiseFloor(tb, operator, ns, tick) },
			},
			Before: func(c coord.Coordinator, n int, act func()) func() bool {
				return interrupters[c].before(n, act)
			},
			Lose: func(tb testing.TB) func() { tb.Helper(); return rollBack(tb, server) },
		}
	})
}
