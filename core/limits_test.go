package core_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
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

// TestDeafRenew: calls that go on after they were given up do not grow without bound, and service comes
// back although they never end.
func TestDeafRenew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &deaf{Coordinator: coordtest.NewFake(coordtest.FakeConfig{Workers: 16}).Client(), free: make(chan struct{})}
		g, err := core.New(t.Context(), d, core.Config{Clock: clocktest.NewShifted(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		before := runtime.NumGoroutine()
		d.stuck.Store(true)
		time.Sleep(time.Hour)
		if n := runtime.NumGoroutine() - before; n > 50 {
			t.Errorf("%d more goroutines after an hour", n)
		}
		d.stuck.Store(false)
		began := time.Now()
		if _, err := g.NextContext(t.Context()); err != nil || time.Since(began) > 10*time.Minute {
			t.Errorf("service is back after %v, %v", time.Since(began), err)
		}
		close(d.free)
		_ = g.Close(t.Context())
	})
}

// flaky is a coordinator that is away at first.
type flaky struct {
	coord.Coordinator
	fails atomic.Int32
}

func (f *flaky) Acquire(ctx context.Context, r coord.Request) (coord.Grant, error) {
	if f.fails.Add(-1) >= 0 {
		return coord.Grant{}, errors.New("connection refused")
	}
	return f.Coordinator.Acquire(ctx, r)
}

// TestLongestTTL: a start tries again for a TTL and some seconds, however long that is.
func TestLongestTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &flaky{Coordinator: coordtest.NewFake(coordtest.FakeConfig{Workers: 16}).Client()}
		c.fails.Store(3)
		clk := clocktest.NewShifted(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
		g, err := core.New(t.Context(), c, core.Config{Clock: clk, Logger: slog.New(slog.DiscardHandler), Lease: coord.LeaseConfig{TTL: math.MaxInt64, Horizon: 10 * time.Second}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Next(); err != nil {
			t.Error(err)
		}
		_ = g.Close(t.Context())
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
			layout := core.DefaultLayout()
			layout.Epoch = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC) // a bubble begins in 2000
			fake := coordtest.NewFake(coordtest.FakeConfig{Workers: 16}).Client()
			g, err := core.New(t.Context(), fake, core.Config{Layout: layout, Clock: c, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			c.says.Store(says)
			_, _ = g.Next()
			before := c.reads.Load()
			stop := time.NewTimer(time.Minute)
			for spinning := true; spinning; {
				select {
				case <-stop.C:
					spinning = false
				default:
					if c.reads.Load()-before > 100_000 {
						t.Fatalf("a clock that says %d was read %d times", says, c.reads.Load()-before)
					}
					time.Sleep(time.Millisecond)
				}
			}
			if n := c.reads.Load() - before; n > 10_000 {
				t.Errorf("a clock that says %d was read %d times in a minute", says, n)
			}
			c.says.Store(0)
			if _, err := g.NextContext(t.Context()); err != nil {
				t.Errorf("after a clock that said %d: %v", says, err)
			}
			_ = g.Close(t.Context())
		})
	}
}
