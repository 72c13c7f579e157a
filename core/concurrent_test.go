package core_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// wide leaves room in every tick, so that the code is what the tests press on and
// not the layout's ceiling.
func wide() core.Layout {
	l := core.DefaultLayout()
	l.WorkerBits, l.SequenceBits = 4, 18
	return l
}

// steady is a wall clock that never steps, whatever NTP does during a test.
type steady struct{ start time.Time }

func newSteady() clock.Clock { return steady{time.Now()} }

func (s steady) UnixMicro() int64 {
	return s.start.UnixMicro() +
		time.Since(s.start).Microseconds()
}

// taker puts IDs into buf, and returns how many.
type taker func(buf []core.ID) (int, error)

// single is a taker of one ID.
func single(next func() (core.ID, error)) taker {
	return func(buf []core.ID) (int, error) {
		id, err := next()
		if err != nil {
			return 0, err
		}
		buf[0] = id
		return 1, nil
	}
}

// crew are goroutines that take IDs from one generator, and keep what each got.
type crew struct {
	g     *core.Generator
	quota int // IDs a goroutine
	got   [][]core.ID
	// tolerable are the errors after which a goroutine tries again, ends those that end it.
	tolerable, ends []error
}

func newCrew(g *core.Generator, goroutines, ids int) *crew {
	return &crew{g: g, quota: ids / goroutines, got: make([][]core.ID, goroutines)}
}

// run lets all take IDs until each has its quota.
func (c *crew) run(t *testing.T, take taker) {
	t.Helper()
	var all sync.WaitGroup
	for i, ids := range c.got {
		all.Go(func() {
			defer func() { c.got[i] = ids }()
			ids = slices.Grow(ids, c.quota-len(ids))
			for len(ids) < c.quota {
				k, err := take(ids[len(ids):c.quota])
				ids = ids[:len(ids)+k]
				is := func(e error) bool { return errors.Is(err, e) }
				switch {
				case err == nil:
				case slices.ContainsFunc(c.tolerable, is):
					runtime.Gosched()
				default:
					if !slices.ContainsFunc(c.ends, is) {
						t.Errorf("goroutine %d after %d IDs: %v", i, len(ids), err)
					}
					return
				}
			}
		})
	}
	all.Wait()
}

// check tells whether all IDs are unique, whether each goroutine got the IDs of each
// worker ID in ascending order, and whether Health counted them exactly. It returns the
// greatest.
func (c *crew) check(t *testing.T) core.ID {
	t.Helper()
	l, all := wide(), []core.ID{}
	for i, ids := range c.got {
		var last [16]core.ID // by worker ID
		for _, id := range ids {
			w := l.Decompose(id).WorkerID
			if id <= last[w] {
				safetytest.Of(t).Fatalf("goroutine %d: after %d of worker ID %d came %d", i, last[w], w, id)
			}
			last[w] = id
		}
		all = append(all, ids...)
	}
	slices.Sort(all)
	for i := range all[1:] {
		if all[i] == all[i+1] {
			safetytest.Of(t).Fatalf("duplicate %d: %+v", all[i], l.Decompose(all[i]))
		}
	}
	if n := c.g.Health().Issued; n != uint64(len(all)) {
		t.Errorf("Health counts %d IDs, the callers got %d", n, len(all))
	}
	return all[len(all)-1]
}

// generator starts a generator on a fake back end, and closes it after the test.
func generator(t *testing.T, f *coordtest.Fake, cfg core.Config) *core.Generator {
	t.Helper()
	cfg.Layout = wide()
	if cfg.Clock == nil {
		cfg.Clock = newSteady()
	}
	g, err := core.New(context.Background(), f.Client(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return g
}

// TestConcurrentModes takes ten million IDs in each mode and finds no duplicate, no
// disorder and no error.
func TestConcurrentModes(t *testing.T) {
	next := func(g *core.Generator) taker { return single(g.Next) }
	tryNext := func(g *core.Generator) taker {
		return single(func() (core.ID, error) {
			for {
				id, err := g.TryNext()
				if !errors.Is(err, core.ErrSequenceExhausted) {
					return id, err
				}
				runtime.Gosched()
			}
		})
	}
	nextContext := func(g *core.Generator) taker {
		return single(func() (core.ID, error) { return g.NextContext(t.Context()) })
	}
	fill := func(g *core.Generator) taker {
		var calls atomic.Int64
		return func(buf []core.ID) (int, error) {
			n := int(calls.Add(1)*7919%3000) + 1
			return g.Fill(t.Context(), buf[:min(n, len(buf))])
		}
	}
	// A call that begins after another has returned gets a greater ID.
	ordered := func(g *core.Generator) taker {
		var highest atomic.Int64 // of all IDs returned so far
		return single(func() (core.ID, error) {
			before := highest.Load()
			id, err := g.Next()
			if id.Int64() <= before {
				safetytest.Of(t).Errorf("got %d after %d had been returned", id, before)
			}
			for h := before; h < id.Int64() && !highest.CompareAndSwap(h, id.Int64()); {
				h = highest.Load()
			}
			return id, err
		})
	}
	tests := []struct {
		name       string
		cfg        core.Config
		goroutines int
		take       func(*core.Generator) taker
	}{
		{"Next/1", core.Config{}, 1, next},
		{"Next/2", core.Config{}, 2, next},
		{"Next/128", core.Config{}, 128, next},
		{"Ordered/8", core.Config{}, 8, ordered},
		{"NextContext/8", core.Config{}, 8, nextContext},
		{"TryNext/8", core.Config{}, 8, tryNext},
		{"Fill/4", core.Config{}, 4, fill},
		{"Coarse/8", core.Config{Clock: clock.Coarse(), RollbackTolerance: time.Minute}, 8, next},
		{"Stripes4/8", core.Config{Stripes: 4}, 8, next},
		{"Stripes4Fill/4", core.Config{Stripes: 4}, 4, fill},
		{"Lead/8", core.Config{Lead: 5 * time.Millisecond}, 8, next},
		{"SpreadBelow/8", core.Config{SpreadBelow: 1 << 17}, 8, next},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := generator(t, newFake(0), tt.cfg)
			c := newCrew(g, tt.goroutines, idsPerMode)
			c.run(t, tt.take(g))
			c.check(t)
			if n := g.Health().Rollbacks; n != 0 {
				t.Errorf("%d rollbacks were reported, and the clock never stepped", n)
			}
		})
	}
}

// scene is what is disturbed.
type scene struct {
	f *coordtest.Fake
	c *clocktest.Shifted
	g *core.Generator
}

// TestConcurrentDisturbed takes ten million IDs under each kind of disturbance.
func TestConcurrentDisturbed(t *testing.T) {
	// Short times, so that a lot happens. The worker IDs are many, so that lost ones
	// need not be waited for.
	lease := coord.LeaseConfig{
		TTL: 400 * time.Millisecond, Horizon: 60 * time.Millisecond, RenewEvery: 20 * time.Millisecond,
	}
	step := func(s scene, i int) {
		steps := []time.Duration{-2, 3, -40, 55, -4, 4, -100, 100}
		s.c.Step(steps[i%len(steps)] * time.Millisecond)
	}
	outage := func(s scene, i int) { s.f.Refuse(i%20 < 10) }
	theft := func(s scene, i int) {
		if workers := s.g.Health().Workers; i%5 == 0 {
			stolen := workers[i%len(workers)].WorkerID
			s.f.Steal(stolen)
			s.f.Expire((stolen + 8) % 16) // an earlier thief's
		}
	}
	floor := func(s scene, i int) {
		if i%10 == 0 {
			now := s.c.Time().Sub(wide().Epoch).Milliseconds()
			s.f.RaiseFloor(now + lease.Horizon.Milliseconds() + 5)
		}
	}
	type disturbance func(s scene, i int)
	for _, tt := range []struct {
		name    string
		stripes int
		what    []disturbance
	}{
		{"clock steps back and forth", 1, []disturbance{step}},
		{"window ends and is renewed", 1, []disturbance{outage}},
		{"worker ID changes", 1, []disturbance{theft}},
		{"floor rises", 1, []disturbance{floor}},
		{"stripes and all of it", 3, []disturbance{step, outage, theft}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := scene{f: newFake(16), c: clocktest.NewShifted(time.Now())}
			s.g = generator(t, s.f, core.Config{Clock: s.c, Lease: lease, Stripes: tt.stripes})
			stop := make(chan struct{})
			var done sync.WaitGroup
			done.Go(func() {
				tick := time.NewTicker(5 * time.Millisecond)
				defer tick.Stop()
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					case <-tick.C:
					}
					for _, disturb := range tt.what {
						disturb(s, i)
					}
				}
			})
			// effects counts what the disturbance has brought about.
			effects := func() int {
				h := s.g.Health()
				return s.f.Count(coordtest.Acquire) - len(h.Workers) + int(h.Errors.WindowEnded)
			}
			c := newCrew(s.g, 8, 0)
			c.tolerable = []error{core.ErrClockRollback, core.ErrWindowEnded, core.ErrWindowNotOpen}
			// One round is enough on an idle machine; on a busy one there may be more IDs
			// than disturbances in it.
			for round := 0; round == 0 || round < 50 && effects() < 3; round++ {
				c.quota += idsPerMode / 8
				c.run(t, single(s.g.Next))
			}
			close(stop)
			done.Wait()
			s.f.Recover()
			c.check(t)
			if effects() == 0 {
				t.Error("nothing was disturbed")
			}
		})
	}
}

// TestCloseUnderLoad closes a generator while many take IDs. None that they got lies
// above the tick to which the window was trimmed.
func TestCloseUnderLoad(t *testing.T) {
	const rounds = 10
	for range rounds {
		f := newFake(0)
		g := generator(t, f, core.Config{})
		c := newCrew(g, 8, idsPerMode)
		c.ends = []error{core.ErrClosed}
		var all sync.WaitGroup
		all.Go(func() { c.run(t, single(g.Next)) })
		for g.Health().Issued < uint64(idsPerMode/rounds) {
			runtime.Gosched()
		}
		if err := g.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		all.Wait()
		last := f.CallsOf(coordtest.Release)[0].Last
		if tick := c.check(t).Int64() >> 22; tick > last {
			safetytest.Of(t).Errorf("an ID carries tick %d, and the window was trimmed to %d", tick, last)
		}
		if stored := f.Slot(g.Health().Workers[0].WorkerID).NotAfter; stored != last {
			safetytest.Of(t).Errorf("stored NotAfter is %d, want %d", stored, last)
		}
	}
}
