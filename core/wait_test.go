package core_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/core/coretest"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// narrow is a layout whose sequence is spent after four IDs.
func narrow() core.Layout {
	l := core.DefaultLayout()
	l.SequenceBits = 2
	return l
}

// spend takes the four IDs of a tick.
func spend(t *testing.T, g *core.Generator) {
	t.Helper()
	for range 4 {
		if _, err := g.TryNext(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := g.TryNext(); !errors.Is(err, core.ErrSequenceExhausted) {
		t.Fatalf("the fifth ID of a tick: %v", err)
	}
}

// TestNextWaitsForTheEdge checks in virtual time that Next wakes at the next tick and not
// later, however many wait, and that a step back within the tolerance delays it by one tick
// and the tolerance at most.
func TestNextWaitsForTheEdge(t *testing.T) {
	for _, tt := range []struct {
		calls      int
		step, want time.Duration
	}{
		{12, 0, 3 * time.Millisecond}, // of four IDs
		{1, -5 * time.Millisecond, 6 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := clocktest.NewShifted(coretest.Start())
			g := coretest.NewWith(t, core.Config{Layout: narrow(), Clock: c})
			start := time.Now()
			spend(t, g)
			c.Step(tt.step)
			var all sync.WaitGroup
			for range tt.calls {
				all.Go(func() {
					if _, err := g.Next(); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if d := time.Since(start); d != tt.want {
				t.Errorf("%d IDs after a step of %v took %v, want %v", tt.calls, tt.step, d, tt.want)
			}
		})
	}
}

// TestLeaderOfAWaitIsCalledAway ends the context of the call that waits for the clock
// on behalf of others. Those of the same context end, and who is left waits for itself.
func TestLeaderOfAWaitIsCalledAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clocktest.NewManual(coretest.Start())
		g := coretest.NewWith(t, core.Config{Layout: narrow(), Clock: c})
		spend(t, g)
		ctx, cancel := context.WithCancel(t.Context())
		ends := make(chan error, 4)
		for _, ctx := range []context.Context{ctx, ctx, t.Context(), t.Context()} {
			go func() {
				_, err := g.NextContext(ctx)
				ends <- err
			}()
			synctest.Wait() // the first waits and leads, the others have joined
		}
		cancel()
		for range 2 {
			if err := <-ends; !errors.Is(err, context.Canceled) {
				t.Errorf("a call whose context has ended: %v", err)
			}
		}
		synctest.Wait()
		c.Advance(time.Millisecond)
		for range 2 {
			select {
			case err := <-ends:
				if err != nil {
					t.Errorf("another call: %v", err)
				}
			case <-time.After(time.Second):
				t.Error("another call hangs though the tick has come")
			}
		}
	})
}

// TestRealEdge waits for edges of real clocks, with and without lead, so that the
// timer, the nap and the spin are all used.
func TestRealEdge(t *testing.T) {
	for _, unit := range []time.Duration{time.Millisecond, 10 * time.Millisecond} {
		for _, lead := range []time.Duration{0, 10 * time.Millisecond} {
			for _, c := range []clock.Clock{newSteady(), clock.Coarse()} {
				l := narrow()
				l.Unit = unit
				g := coretest.NewWith(t, core.Config{
					Layout: l, Clock: c, Lead: lead,
					RollbackTolerance: time.Minute,
				})
				dst := make([]core.ID, 60)
				if n, err := g.Fill(t.Context(), dst); n != len(dst) || err != nil {
					t.Fatalf("unit %v, lead %v: %d, %v", unit, lead, n, err)
				}
				first, last := l.Decompose(dst[0]).Time, l.Decompose(dst[59]).Time
				now := time.UnixMicro(clock.Fresh(c))
				if d := last.Sub(first); d < 14*unit || last.After(now.Add(lead)) {
					safetytest.Of(t).Errorf("unit %v, lead %v: 60 IDs at 4 a tick lie within %v, until %v at %v",
						unit, lead, d, last, now)
				}
			}
		}
	}
}

// frozen is a clock that stands still and has no alarm: a mistake of its author. It
// counts how often it is read.
type frozen struct {
	at    time.Time
	reads atomic.Int64
}

func (f *frozen) UnixMicro() int64 {
	f.reads.Add(1)
	return f.at.UnixMicro()
}

// TestFrozenClock waits on a clock that does not move: far from the edge, where it
// naps, and near, where it spins and then gives that up. It must end with the
// context.
func TestFrozenClock(t *testing.T) {
	for _, tt := range []struct {
		into  time.Duration // the millisecond
		reads int64
	}{{0, 30}, {900 * time.Microsecond, 4300}} {
		c := &frozen{at: coretest.Start().Add(tt.into)}
		g := coretest.NewWith(t, core.Config{Layout: narrow(), Clock: c})
		spend(t, g)
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			for c.reads.Load() < tt.reads {
				runtime.Gosched()
			}
			cancel()
		}()
		if _, err := g.NextContext(ctx); !errors.Is(err, context.Canceled) ||
			!errors.Is(err, core.ErrSequenceExhausted) {
			t.Errorf("NextContext: %v", err)
		}
	}
}
