package core_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
)

// changes are what OnChange was called with.
type changes struct {
	mu  sync.Mutex
	all []core.Health
}

// listen is an option that adds to told what OnChange is called with.
func listen(told *changes) func(*core.Config) {
	return func(c *core.Config) {
		c.OnChange = func(h core.Health) {
			told.mu.Lock()
			defer told.mu.Unlock()
			told.all = append(told.all, h)
		}
	}
}

// take returns what was told since the last call.
func (c *changes) take() []core.Health {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.all
	c.all = nil
	return all
}

func TestOnChangeTellsEveryTransition(t *testing.T) {
	type change struct {
		worker int
		err    error
	}
	synctest.Test(t, func(t *testing.T) {
		var told changes
		last := false // only the last change counts
		g := lease(t, newFake(2), listen(&told))
		expect := func(want ...change) {
			t.Helper()
			told := told.take()
			if last {
				told = told[max(0, len(told)-1):]
			}
			if !slices.EqualFunc(told, want, func(h core.Health, c change) bool {
				return h.Workers[0].WorkerID == c.worker && errors.Is(h.Err, c.err) &&
					h.Healthy == (c.err == nil)
			}) {
				t.Errorf("told was %+v, want %v", told, want)
			}
		}
		letSettled(time.Minute)
		expect() // renewals are no change

		g.fake.Refuse(true)
		letSettled(40 * time.Second)
		expect(change{0, core.ErrWindowEnded})
		g.fake.Refuse(false)
		letSettled(2 * time.Second)
		expect(change{0, nil})

		g.fake.DelayReplies(coordtest.Acquire, time.Second, 1)
		thief := g.fake.Steal(0)
		letSettled(2 * time.Second)
		expect(change{0, core.ErrWindowEnded}, change{1, nil})

		g.next()
		g.clock.Step(-10 * time.Second) // the thief has the only other worker ID
		letSettled(time.Second)
		expect(change{1, core.ErrClockRollback})
		letSettled(15 * time.Second)
		expect(change{1, nil})

		if err := g.fake.Client().Release(t.Context(), thief, thief.NotBefore); err != nil {
			t.Fatal(err)
		}
		letSettled(time.Minute) // its window lies behind then
		g.next()
		g.clock.Step(-20 * time.Second)
		letSettled(time.Second)
		last = true
		expect(change{0, nil})
		if err := g.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
		synctest.Wait()
		expect(change{0, core.ErrClosed})
	})
}

// Close is a change of its own, whatever the generator lacked before.
func TestOnChangeTellsCloseFromAnOutage(t *testing.T) {
	for name, before := range map[string]func(*leased){
		"serving":      func(*leased) {},
		"outage":       func(g *leased) { g.fake.Refuse(true); letSettled(time.Minute) },
		"lost":         func(g *leased) { g.fake.Refuse(true); g.fake.Steal(0); letSettled(time.Minute) },
		"closed twice": func(g *leased) { _ = g.Close(context.Background()) },
		"not started":  nil,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told changes
				f := newFake(2)
				f.Refuse(before == nil)
				g := begin(t, f, listen(&told))
				letSettled(time.Second)
				if before != nil {
					before(g)
				}
				_ = g.Close(context.Background()) // the fake may refuse
				letSettled(time.Second)
				all := told.take()
				if len(all) == 0 {
					t.Error("nothing was told")
				}
				for i, h := range all {
					last := i == len(all)-1
					if h.Closed != last || h.Closed != errors.Is(h.Err, core.ErrClosed) || h.Closed && h.Healthy {
						t.Errorf("change %d of %d: told was %+v", i+1, len(all), h)
					}
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
		if err := g.Close(ctx); !errors.Is(err, context.DeadlineExceeded) ||
			time.Since(began) != 100*time.Millisecond {
			t.Errorf("Close returned after %v: %v", time.Since(began), err)
		}
		again := g.Close(context.Background())
		const want = "core: closing a generator: worker ID 0 not released"
		if err := <-first; err == nil || again == nil || again.Error() != err.Error() ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("Close: %v, and beside it: %v; want %s", err, again, want)
		}
	})
}
