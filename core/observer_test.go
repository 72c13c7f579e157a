package core_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/core"
)

// looked is a clock that calls a function when it is read in the course of another one.
type looked struct {
	*clocktest.Shifted
	within    string // the end of the name of that other one
	meanwhile atomic.Pointer[func()]
}

func (l *looked) UnixMicro() int64 {
	now := l.Shifted.UnixMicro()
	callers := make([]uintptr, 16)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for f, more := frames.Next(); more; f, more = frames.Next() {
		if strings.HasSuffix(f.Function, l.within) {
			if do := l.meanwhile.Swap(nil); do != nil {
				(*do)()
			}
		}
	}
	return now
}

// A listener is told of what differs from what it was told last, once: also if that changes
// again while the observer looks at it.
func TestOnChangeTellsNothingTwice(t *testing.T) {
	for name, c := range map[string]struct {
		within    string
		meanwhile func(*leased)
	}{
		"closed": {"(*observer).conditions", func(g *leased) { _ = g.Close(context.Background()) }},
		"served again": {"(*Generator).Health", func(g *leased) {
			g.fake.Refuse(false)
			_ = g.Ready(context.Background())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := &looked{Shifted: clocktest.NewShifted(time.Now()), within: c.within}
				var told []core.Health
				cfg := leaseConfig(nil)
				cfg.Clock = clock
				cfg.OnChange = func(h core.Health) { told = append(told, h) }
				f := newFake(1)
				g, err := core.New(t.Context(), f.Client(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				settle(time.Second)
				var do func()
				do = func() {
					if g.Check() == nil {
						clock.meanwhile.Store(&do) // there is nothing to tell yet
						return
					}
					c.meanwhile(&leased{Generator: g, t: t, fake: f})
				}
				clock.meanwhile.Store(&do)
				f.Refuse(true)
				settle(time.Minute)
				f.Refuse(false)
				settle(time.Minute)
				if clock.meanwhile.Load() != nil {
					t.Fatal("nobody looked")
				}
				_ = g.Close(context.Background())
				settle(time.Second)
				was := core.Health{Healthy: true}
				for _, h := range told {
					if h.Healthy == was.Healthy && h.Closed == was.Closed {
						t.Errorf("told again: Healthy %v, Closed %v, %v", h.Healthy, h.Closed, h.Err)
					}
					was = h
				}
				if !was.Closed || !errors.Is(was.Err, core.ErrClosed) {
					t.Errorf("the last of %d calls was told %+v", len(told), was)
				}
			})
		})
	}
}

// A call of Close ends with its own context, also while another one is under way.
func TestCloseBesideAnotherEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(1))
		g.fake.Outage(true)
		first := make(chan error, 1)
		go func() { first <- g.Close(context.Background()) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		began := time.Now()
		if err := g.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 100*time.Millisecond {
			t.Errorf("Close returned after %v: %v", time.Since(began), err)
		}
		began = time.Now()
		again := g.Close(context.Background())
		if err := <-first; err == nil || again == nil || again.Error() != err.Error() || time.Since(began) == 0 {
			t.Errorf("Close: %v, and beside it, after %v: %v", err, time.Since(began), again)
		}
	})
}
