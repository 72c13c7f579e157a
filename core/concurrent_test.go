package core_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
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

func (s steady) UnixMicro() int64 { return s.start.UnixMicro() + time.Since(s.start).Microseconds() }

// crew runs goroutines that take IDs from one generator, and keeps what each got.
type crew struct {
	g     *core.Generator
	quota int // IDs a goroutine
	got   [][]core.ID
	// tolerable are the errors after which a goroutine tries again.
	tolerable []error
	failures  atomic.Int64
}

// run lets n goroutines take IDs, each with take, until each has its quota, and
// waits for them.
func (c *crew) run(t *testing.T, n int, take func(buf []core.ID) (int, error)) {
	t.Helper()
	if c.got == nil {
		c.got = make([][]core.ID, n)
	}
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			ids := slices.Grow(c.got[i], c.quota-len(c.got[i]))
			for len(ids) < c.quota {
				k, err := take(ids[len(ids):c.quota])
				ids = ids[:len(ids)+k]
				if err != nil && !c.tolerate(err) {
					t.Errorf("goroutine %d after %d IDs: %v", i, len(ids), err)
					break
				}
			}
			c.got[i] = ids
		})
	}
	all.Wait()
}

func (c *crew) tolerate(err error) bool {
	c.failures.Add(1)
	runtime.Gosched()
	return slices.ContainsFunc(c.tolerable, func(e error) bool { return errors.Is(err, e) })
}

// check tells whether all IDs are unique, whether each goroutine got the IDs of
// each worker ID in ascending order, and whether Health counted them exactly.
func (c *crew) check(t *testing.T, l core.Layout) {
	t.Helper()
	var all []core.ID
	for i, ids := range c.got {
		checkOrder(t, i, ids, l)
		all = append(all, ids...)
	}
	checkUnique(t, all)
	if n := c.g.Health().Issued; n != uint64(len(all)) {
		t.Errorf("Health counts %d IDs, the callers got %d", n, len(all))
	}
	if len(all) < idsPerMode/2 {
		t.Errorf("only %d IDs were issued: that proves nothing", len(all))
	}
}

func checkOrder(t *testing.T, goroutine int, ids []core.ID, l core.Layout) {
	t.Helper()
	last := map[int]core.ID{}
	worker, prev := -1, core.ID(0)
	for k, id := range ids {
		if w := int(id.Int64() >> l.SequenceBits & (1<<l.WorkerBits - 1)); w != worker {
			last[worker] = prev
			worker, prev = w, last[w]
		}
		if id <= prev {
			t.Fatalf("goroutine %d: ID %d of worker ID %d is %d, after %d", goroutine, k, worker, id, prev)
		}
		prev = id
	}
}

func checkUnique(t *testing.T, ids []core.ID) {
	t.Helper()
	slices.Sort(ids)
	for i := 1; i < len(ids); i++ {
		if ids[i] == ids[i-1] {
			t.Fatalf("duplicate %d: %+v", ids[i], wide().Decompose(ids[i]))
		}
	}
}

// generator starts a generator on a fake back end, and closes it after the test.
func generator(t *testing.T, f *coordtest.Fake, cfg core.Config) *core.Generator {
	t.Helper()
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
	next := func(g *core.Generator) func([]core.ID) (int, error) {
		return func(buf []core.ID) (int, error) {
			id, err := g.Next()
			if err != nil {
				return 0, err
			}
			buf[0] = id
			return 1, nil
		}
	}
	nextContext := func(g *core.Generator) func([]core.ID) (int, error) {
		return func(buf []core.ID) (int, error) {
			id, err := g.NextContext(context.Background())
			buf[0] = id
			return 1, err
		}
	}
	tryNext := func(g *core.Generator) func([]core.ID) (int, error) {
		return func(buf []core.ID) (int, error) {
			id, err := g.TryNext()
			if err != nil {
				return 0, err
			}
			buf[0] = id
			return 1, nil
		}
	}
	fill := func(g *core.Generator) func([]core.ID) (int, error) {
		var calls atomic.Int64
		return func(buf []core.ID) (int, error) {
			n := int(calls.Add(1)*7919%3000) + 1
			return g.Fill(context.Background(), buf[:min(n, len(buf))])
		}
	}
	tests := []struct {
		name       string
		cfg        core.Config
		goroutines int
		take       func(*core.Generator) func([]core.ID) (int, error)
	}{
		{"Next/1", core.Config{}, 1, next},
		{"Next/2", core.Config{}, 2, next},
		{"Next/128", core.Config{}, 128, next},
		{"NextContext/8", core.Config{}, 8, nextContext},
		{"TryNext/8", core.Config{}, 8, tryNext},
		{"Fill/4", core.Config{}, 4, fill},
		{"Coarse/8", core.Config{Clock: clock.Coarse(), RollbackTolerance: time.Minute}, 8, next},
		{"Stripes4/8", core.Config{Stripes: 4}, 8, next},
		{"Stripes4Fill/4", core.Config{Stripes: 4}, 4, fill},
		{"Lead/8", core.Config{Lead: 5 * time.Millisecond}, 8, next},
		{"SequenceStart/8", core.Config{SequenceStart: 1 << 17}, 8, next},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := tt.cfg
			cfg.Layout = wide()
			if cfg.Clock == nil {
				cfg.Clock = newSteady()
			}
			g := generator(t, coordtest.NewFake(coordtest.FakeConfig{}), cfg)
			c := crew{g: g, quota: idsPerMode / tt.goroutines}
			if strings.HasPrefix(tt.name, "TryNext") {
				c.tolerable = []error{core.ErrSequenceExhausted}
			}
			c.run(t, tt.goroutines, tt.take(g))
			c.check(t, wide())
			if n := g.Health().Rollbacks; n != 0 {
				t.Errorf("%d rollbacks were reported, and the clock never stepped", n)
			}
		})
	}
}

// TestOrderAcrossGoroutines checks that a call which begins after another has
// returned gets a greater ID.
func TestOrderAcrossGoroutines(t *testing.T) {
	g := generator(t, coordtest.NewFake(coordtest.FakeConfig{}), core.Config{Layout: wide(), Clock: newSteady()})
	var highest atomic.Int64 // of all IDs returned so far
	c := crew{g: g, quota: idsPerMode / 8 / 4}
	c.run(t, 8, func(buf []core.ID) (int, error) {
		before := highest.Load()
		id, err := g.Next()
		if id.Int64() <= before {
			t.Errorf("got %d after %d had been returned", id, before)
		}
		for h := highest.Load(); h < id.Int64() && !highest.CompareAndSwap(h, id.Int64()); {
			h = highest.Load()
		}
		buf[0] = id
		return 1, err
	})
}

// disturb calls f again and again until stop is closed, and counts the calls.
func disturb(stop <-chan struct{}, pause time.Duration, f func(i int)) (calls *atomic.Int64, done *sync.WaitGroup) {
	calls, done = new(atomic.Int64), new(sync.WaitGroup)
	done.Go(func() {
		tick := time.NewTicker(pause)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-tick.C:
				f(i)
				calls.Add(1)
			}
		}
	})
	return calls, done
}

// reacquired counts the worker IDs that a generator had to lease anew.
func reacquired(f *coordtest.Fake, h core.Health) int {
	return f.Count(coordtest.Acquire) - len(h.Workers)
}

// refused counts the IDs that were refused because a window had ended.
func refused(_ *coordtest.Fake, h core.Health) int { return int(h.Errors.WindowEnded) }

// TestConcurrentDisturbed takes ten million IDs under each kind of disturbance.
func TestConcurrentDisturbed(t *testing.T) {
	// Short times, so that a lot happens. The worker IDs are many, so that lost ones
	// need not be waited for.
	lease := coord.LeaseConfig{TTL: 400 * time.Millisecond, Horizon: 60 * time.Millisecond, RenewEvery: 20 * time.Millisecond}
	tests := []struct {
		name    string
		cfg     core.Config
		disturb func(f *coordtest.Fake, c *clocktest.Shifted, g *core.Generator, i int)
		// effect counts what the disturbance was to bring about.
		effect func(f *coordtest.Fake, h core.Health) int
	}{
		{"clock steps back and forth", core.Config{}, func(_ *coordtest.Fake, c *clocktest.Shifted, _ *core.Generator, i int) {
			steps := []time.Duration{-2, 3, -40, 55, -4, 4, -100, 100}
			c.Step(steps[i%len(steps)] * time.Millisecond)
		}, reacquired},
		{"window ends and is renewed", core.Config{Lease: lease}, func(f *coordtest.Fake, _ *clocktest.Shifted, _ *core.Generator, i int) {
			f.Refuse(i%20 < 10)
		}, refused},
		{"worker ID changes", core.Config{Lease: lease}, func(f *coordtest.Fake, _ *clocktest.Shifted, g *core.Generator, _ int) {
			stolen := g.Health().Workers[0].WorkerID
			f.Steal(stolen)
			f.Expire((stolen + 8) % 16) // an earlier thief's
		}, reacquired},
		{"floor rises", core.Config{Lease: lease}, func(f *coordtest.Fake, c *clocktest.Shifted, _ *core.Generator, i int) {
			if i%10 == 0 {
				now := c.Time().Sub(wide().Epoch).Milliseconds()
				f.RaiseFloor(now + lease.Horizon.Milliseconds() + 5)
			}
		}, refused},
		{"stripes and all of it", core.Config{Lease: lease, Stripes: 3}, func(f *coordtest.Fake, c *clocktest.Shifted, g *core.Generator, i int) {
			steps := []time.Duration{-2, 3, -40, 55, -4, 4, -100, 100}
			c.Step(steps[i%len(steps)] * time.Millisecond)
			f.Refuse(i%20 < 8)
			if i%5 == 0 {
				stolen := g.Health().Workers[i%3].WorkerID
				f.Steal(stolen)
				f.Expire((stolen + 8) % 16)
			}
		}, reacquired},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := clocktest.NewShifted(time.Now())
			f := coordtest.NewFake(coordtest.FakeConfig{Workers: 16})
			cfg := tt.cfg
			cfg.Layout, cfg.Clock = wide(), c
			g := generator(t, f, cfg)
			stop := make(chan struct{})
			calls, done := disturb(stop, 5*time.Millisecond, func(i int) { tt.disturb(f, c, g, i) })

			crew := crew{g: g, tolerable: []error{core.ErrClockRollback, core.ErrWindowEnded, core.ErrWindowNotOpen}}
			// One round is enough on an idle machine; on a busy one there may be more IDs
			// than disturbances in it.
			for round := 0; round == 0 || round < 50 && tt.effect(f, g.Health()) < 3; round++ {
				crew.quota += idsPerMode / 8
				crew.run(t, 8, func(buf []core.ID) (int, error) {
					id, err := g.Next()
					if err != nil {
						return 0, err
					}
					buf[0] = id
					return 1, nil
				})
			}
			close(stop)
			done.Wait()
			f.Heal()
			crew.check(t, wide())
			t.Logf("%d disturbances, %d errors returned, %d acquisitions, %d renewals", calls.Load(), crew.failures.Load(), f.Count(coordtest.Acquire), f.Count(coordtest.Renew))
			if tt.effect(f, g.Health()) == 0 {
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
		f := coordtest.NewFake(coordtest.FakeConfig{})
		g := generator(t, f, core.Config{Layout: wide(), Clock: newSteady()})
		var issued atomic.Int64
		c := crew{g: g, quota: idsPerMode / 8}
		c.got = make([][]core.ID, 8)
		var all sync.WaitGroup
		for i := range c.got {
			all.Go(func() {
				for len(c.got[i]) < c.quota {
					id, err := g.Next()
					if err != nil {
						if !errors.Is(err, core.ErrClosed) {
							t.Error(err)
						}
						return
					}
					c.got[i] = append(c.got[i], id)
					issued.Add(1)
				}
			})
		}
		for issued.Load() < int64(idsPerMode/rounds) {
			runtime.Gosched()
		}
		if err := g.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		all.Wait()
		last := f.CallsOf(coordtest.Release)[0].Last
		var ids []core.ID
		for i := range c.got {
			checkOrder(t, i, c.got[i], wide())
			ids = append(ids, c.got[i]...)
		}
		checkUnique(t, ids)
		if tick := ids[len(ids)-1].Int64() >> 22; tick > last {
			t.Errorf("an ID carries tick %d, and the window was trimmed to %d", tick, last)
		}
		if n := g.Health().Issued; n != uint64(len(ids)) {
			t.Errorf("Health counts %d IDs, the callers got %d", n, len(ids))
		}
		if stored := f.Slot(g.Health().Workers[0].WorkerID).NotAfter; stored != last {
			t.Errorf("stored NotAfter is %d, want %d", stored, last)
		}
	}
}
