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

// TestNextWaitsForTheEdge checks in virtual time that Next wakes at the next tick
// and not later, however many wait.
func TestNextWaitsForTheEdge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clocktest.NewShifted(coretest.Start())
		g := coretest.NewWith(t, core.Config{Layout: narrow(), Clock: c})
		start := time.Now()
		spend(t, g)
		var all sync.WaitGroup
		for range 12 {
			all.Go(func() {
				if _, err := g.Next(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if d := time.Since(start); d != 3*time.Millisecond {
			t.Errorf("twelve IDs at four a millisecond took %v, want 3ms", d)
		}
	})
}

// TestNextWaitsOutASmallRollback checks that a step within the tolerance delays
// Next by one tick and the tolerance at most.
func TestNextWaitsOutASmallRollback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clocktest.NewShifted(coretest.Start())
		g := coretest.NewWith(t, core.Config{Layout: narrow(), Clock: c})
		spend(t, g)
		c.Step(-5 * time.Millisecond)
		start := time.Now()
		if _, err := g.Next(); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d != 6*time.Millisecond {
			t.Errorf("Next took %v, want one tick and the tolerance, 6ms", d)
		}
	})
}

// TestStepDuringTheWait steps the clock while Next waits: forward ends the wait,
// far back is a rollback.
func TestStepDuringTheWait(t *testing.T) {
	for _, tt := range []struct {
		step time.Duration
		want error
	}{{time.Second, nil}, {-time.Second, core.ErrClockRollback}} {
		c := clocktest.NewManual(coretest.Start())
		g := coretest.NewWith(t, core.Config{Layout: narrow(), Clock: c, Lease: alone()})
		spend(t, g)
		result := make(chan error)
		go func() {
			_, err := g.Next()
			result <- err
		}()
		c.Advance(tt.step)
		if err := <-result; !errors.Is(err, tt.want) {
			t.Errorf("a step by %v: %v, want %v", tt.step, err, tt.want)
		}
	}
}

// TestCallsAwayFromAWait ends waits by Close and by a context, with the clock
// standing still.
func TestCallsAwayFromAWait(t *testing.T) {
	t.Run("Close", func(t *testing.T) {
		g := coretest.NewWith(t, core.Config{Layout: narrow(), Clock: clocktest.NewManual(coretest.Start())})
		spend(t, g)
		results := make(chan error)
		for range 5 {
			go func() {
				_, err := g.Next()
				results <- err
			}()
		}
		if err := g.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if err := <-results; !errors.Is(err, core.ErrClosed) {
				t.Errorf("Next: %v", err)
			}
		}
	})
	t.Run("context", func(t *testing.T) {
		c := clocktest.NewManual(coretest.Start())
		g := coretest.NewWith(t, core.Config{Layout: narrow(), Clock: c})
		spend(t, g)
		ctx, cancel := context.WithCancel(context.Background())
		results, others := make(chan error), make(chan error)
		for range 5 {
			go func() {
				_, err := g.NextContext(ctx)
				results <- err
			}()
			go func() { // of these, one may have to take over the lead
				_, err := g.NextContext(context.Background())
				others <- err
			}()
		}
		cancel()
		for range 5 {
			if err := <-results; !errors.Is(err, context.Canceled) {
				t.Errorf("NextContext: %v", err)
			}
		}
		c.Advance(10 * time.Millisecond)
		c.Advance(10 * time.Millisecond)
		for range 4 {
			if err := <-others; err != nil {
				t.Errorf("NextContext of somebody else: %v", err)
			}
		}
		c.Advance(10 * time.Millisecond)
		if err := <-others; err != nil {
			t.Errorf("NextContext of somebody else: %v", err)
		}
	})
}

// TestRealEdge waits for edges of real clocks, with and without lead, so that the
// timer, the nap and the spin are all used.
func TestRealEdge(t *testing.T) {
	units := []time.Duration{time.Millisecond, 10 * time.Millisecond}
	for _, unit := range units {
		for _, lead := range []time.Duration{0, 10 * time.Millisecond} {
			for _, c := range []clock.Clock{newSteady(), clock.Coarse()} {
				l := narrow()
				l.Unit = unit
				g := coretest.NewWith(t, core.Config{Layout: l, Clock: c, Lead: lead, RollbackTolerance: time.Minute})
				dst := make([]core.ID, 60)
				if n, err := g.Fill(context.Background(), dst); n != len(dst) || err != nil {
					t.Fatalf("unit %v, lead %v: %d, %v", unit, lead, n, err)
				}
				first, last := l.Decompose(dst[0]).Time, l.Decompose(dst[59]).Time
				if d := last.Sub(first); d < 14*unit {
					t.Errorf("unit %v, lead %v: 60 IDs at 4 a tick lie within %v", unit, lead, d)
				}
				now := time.UnixMicro(clock.Fresh(c))
				if last.After(now.Add(lead)) {
					t.Errorf("unit %v, lead %v: an ID carries %v at %v", unit, lead, last, now)
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
		if _, err := g.NextContext(ctx); !errors.Is(err, context.Canceled) || !errors.Is(err, core.ErrSequenceExhausted) {
			t.Errorf("NextContext: %v", err)
		}
	}
}

// TestEndedContext asks with a context that has ended.
func TestEndedContext(t *testing.T) {
	g := coretest.New(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if id, err := g.NextContext(ctx); id != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("NextContext: %d, %v", id, err)
	}
	if n, err := g.Fill(ctx, make([]core.ID, 3)); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("Fill: %d, %v", n, err)
	}
	if n, err := g.Fill(ctx, nil); n != 0 || err != nil {
		t.Errorf("Fill of nothing: %d, %v", n, err)
	}
	if err := g.Ready(ctx); err != nil {
		t.Errorf("Ready of a generator that is: %v", err)
	}
	for id, err := range g.All(ctx) {
		if id != 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("All: %d, %v", id, err)
		}
	}
	if n := g.Health().Issued; n != 0 {
		t.Errorf("%d IDs were spent", n)
	}
}

// TestFillStopsHalfWay ends the context in the middle of a long Fill: the IDs so far
// are good.
func TestFillStopsHalfWay(t *testing.T) {
	c := clocktest.NewManual(coretest.Start())
	g := coretest.NewWith(t, core.Config{Layout: narrow(), Clock: c, Lead: time.Millisecond})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for g.Health().Issued < 8 {
			runtime.Gosched()
		}
		cancel()
	}()
	dst := make([]core.ID, 20)
	n, err := g.Fill(ctx, dst)
	if n != 8 || !errors.Is(err, context.Canceled) {
		t.Fatalf("Fill: %d, %v; want the 8 IDs of two ticks", n, err)
	}
	for i := range n - 1 {
		if dst[i] >= dst[i+1] {
			t.Errorf("ID %d is %d, after %d", i+1, dst[i+1], dst[i])
		}
	}
	if issued := g.Health().Issued; issued != 8 {
		t.Errorf("Issued is %d, want 8", issued)
	}
}

// TestAll takes a few IDs of a sequence and leaves it.
func TestAll(t *testing.T) {
	g := coretest.New(t)
	want := coretest.First
	for id, err := range g.All(context.Background()) {
		if id != want || err != nil {
			t.Fatalf("got %d, %v, want %d", id, err, want)
		}
		if want++; want == coretest.First+5 {
			break
		}
	}
	if err := g.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range g.All(context.Background()) {
		if n++; !errors.Is(err, core.ErrClosed) {
			t.Errorf("All of a closed generator: %v", err)
		}
	}
	if n != 1 {
		t.Errorf("%d elements after the error", n)
	}
}
