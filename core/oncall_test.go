package core_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
)

// calls collects what OnCall is told.
type calls struct {
	mu  sync.Mutex
	all []coord.Call
}

func (c *calls) add(call coord.Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, call)
}

// take returns the calls since the last take.
func (c *calls) take() []coord.Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.all
	c.all = nil
	return all
}

// TestOnCall: every call to the coordinator is told once, with its worker ID, its time and its error.
func TestOnCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, got := newFake(4), new(calls)
		cfg := leaseConfig(clocktest.NewShifted(time.Now()))
		cfg.OnCall = got.add
		refused := errors.New("refused")
		f.Fail(coordtest.Acquire, refused, 1)
		g, err := core.New(t.Context(), f.Client(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		worker := g.Health().Workers[0].WorkerID
		check(t, "start", got.take(), coord.Call{Op: coord.CallAcquire, WorkerID: -1, Err: refused}, coord.Call{Op: coord.CallAcquire, WorkerID: worker})

		const slow = 100 * time.Millisecond
		f.DelayReplies(coordtest.Renew, slow, 1)
		var all []coord.Call
		for seconds := 0; len(all) == 0 && seconds < 60; seconds++ { // until it has been answered, too
			time.Sleep(time.Second)
			synctest.Wait()
			all = got.take()
		}
		check(t, "renewal", all, coord.Call{Op: coord.CallRenew, WorkerID: worker})
		if len(all) > 0 && all[0].Took != slow {
			t.Errorf("a renewal that took %v is told as %v", slow, all[0].Took)
		}
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
		check(t, "close", got.take(), coord.Call{Op: coord.CallRelease, WorkerID: worker})
	})
}

// check compares calls, but for how long they took.
func check(t *testing.T, what string, got []coord.Call, want ...coord.Call) {
	t.Helper()
	if !slices.EqualFunc(got, want, func(a, b coord.Call) bool {
		return a.Op == b.Op && a.WorkerID == b.WorkerID && errors.Is(a.Err, b.Err)
	}) {
		t.Errorf("%s: told were %+v, want %+v", what, got, want)
	}
}
