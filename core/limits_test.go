package core_test

import (
	"context"
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// deaf is a coordinator of a user's own whose Renew ignores the end of its context.
type deaf struct {
	coord.Coordinator
	stuck atomic.Bool
	free  chan struct{}
}

func (d *deaf) Renew(ctx context.Context, g coord.Grant, until int64) (coord.Grant, error) {
	if d.stuck.Load() {
		<-d.free
	}
	return d.Coordinator.Renew(ctx, g, until)
}

// TestDeafRenew: calls that go on after they were given up do not grow without bound, and service
// comes back although they never end.
func TestDeafRenew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &deaf{Coordinator: newFake(16).Client(), free: make(chan struct{})}
		g := leaseOf(t, d, nil)
		before := runtime.NumGoroutine()
		d.stuck.Store(true)
		time.Sleep(time.Hour)
		if n := runtime.NumGoroutine() - before; n > 50 {
			safetytest.Of(t).Errorf("%d more goroutines after an hour", n)
		}
		d.stuck.Store(false)
		began := time.Now()
		if _, err := g.NextContext(t.Context()); err != nil || time.Since(began) > 10*time.Minute {
			t.Errorf("service is back after %v, %v", time.Since(began), err)
		}
		close(d.free)
	})
}

// TestLongestTTL: a start tries again for a TTL and some seconds, however long that is.
func TestLongestTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		f.Fail(coordtest.Acquire, coordtest.ErrUnreachable, 3)
		g := lease(t, f, func(c *core.Config) {
			c.Lease = coord.LeaseConfig{TTL: math.MaxInt64, Horizon: 10 * time.Second}
		})
		g.next()
	})
}

// extreme is a clock that can be made to say anything, and counts how often it is read.
type extreme struct{ says, reads atomic.Int64 }

func (c *extreme) UnixMicro() int64 {
	c.reads.Add(1)
	if v := c.says.Load(); v != 0 {
		return v
	}
	return time.Now().UnixMicro()
}

// TestExtremeClock: a clock at the ends of what an int64 holds keeps nobody busy.
func TestExtremeClock(t *testing.T) {
	for _, says := range []int64{-1, math.MinInt64, math.MaxInt64, math.MaxInt64 / 2} {
		synctest.Test(t, func(t *testing.T) {
			c := &extreme{}
			g := lease(t, newFake(16), func(cfg *core.Config) { cfg.Clock = c })
			c.says.Store(says)
			_, _ = g.Next()
			before := c.reads.Load()
			for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
				if n := c.reads.Load() - before; n > 10_000 {
					t.Fatalf("a clock that says %d was read %d times within a minute", says, n)
				}
			}
			c.says.Store(0)
			if _, err := g.NextContext(t.Context()); err != nil {
				t.Errorf("after a clock that said %d: %v", says, err)
			}
		})
	}
}
