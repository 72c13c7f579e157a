package core_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
)

// The tests here run a whole generator on the fake back end, in virtual time.

const (
	leaseHorizon = coord.DefaultHorizon
	leaseEvery   = coord.DefaultTTL / 3
)

// leased is a generator with what it stands on.
type leased struct {
	*core.Generator
	t      *testing.T
	fake   *coordtest.Fake
	clock  *clocktest.Shifted
	layout core.Layout
}

// leaseConfig is the default configuration with a clock that follows a bubble, and
// an epoch before the year in which one begins.
func leaseConfig(clock *clocktest.Shifted) core.Config {
	l := core.DefaultLayout()
	l.Epoch = time.Date(1990, time.January, 1, 0, 0, 0, 0, time.UTC)
	return core.Config{Layout: l, Clock: clock}
}

func newFake(workers int) *coordtest.Fake {
	return coordtest.NewFake(coordtest.FakeConfig{Workers: workers})
}

// lease starts a generator and closes it at the end of the test.
func lease(t *testing.T, f *coordtest.Fake, edit ...func(*core.Config)) *leased {
	t.Helper()
	clock := clocktest.NewShifted(time.Now())
	cfg := leaseConfig(clock)
	for _, e := range edit {
		e(&cfg)
	}
	g, err := core.New(t.Context(), f.Client(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close(context.Background()) }) // for tests that did not
	return &leased{Generator: g, t: t, fake: f, clock: clock, layout: cfg.Layout}
}

// tick is the generator's clock in ticks.
func (g *leased) tick() int64 { return g.clock.Time().Sub(g.layout.Epoch).Milliseconds() }

// next is Next, and fails the test if it does.
func (g *leased) next() core.ID {
	g.t.Helper()
	id, err := g.Next()
	if err != nil {
		g.t.Fatalf("Next: %v", err)
	}
	return id
}

// settle lets time pass, and everything in the bubble come to rest.
func settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// wantText compares the whole text of an error.
func wantText(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("the error is\n%v\nwant\n%s", err, want)
	}
}

// at prints the time of the bubble's clock as errors do.
func at(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func TestStolenLeaseIsNamedAndAnotherWorkerIDGoesOnInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(2))
		settle(2 * time.Second)
		last := g.next()
		acquired := g.fake.CallsOf(coordtest.Acquire)[0]
		g.fake.DelayReplies(coordtest.Acquire, time.Second, 1)
		g.fake.Steal(0)
		settle(10 * time.Millisecond)

		_, err := g.Next()
		if !errors.Is(err, core.ErrWindowEnded) || !errors.Is(err, coord.ErrLeaseLost) {
			t.Errorf("Next: %v, want one that wraps both %v and %v", err, core.ErrWindowEnded, coord.ErrLeaseLost)
		}
		wantText(t, err, fmt.Sprintf("core: issue window ended: worker ID 0 was given up at %s: coord: lease lost: %v; the slot has generation 2, holder %q; last renewed %s; service resumes by itself once a worker ID is leased anew",
			at(g.clock.Time().Add(-10*time.Millisecond)), acquired.Result, "thief", at(acquired.At)))
		if h := g.Health(); h.Healthy || h.WindowLeft != 0 {
			t.Errorf("a worker ID that is lost has a window left: %+v", h)
		}

		settle(time.Second)
		id := g.next()
		if p := g.layout.Decompose(id); p.WorkerID != 1 || id <= last {
			t.Errorf("after %d came %d of worker ID %d", last, id, p.WorkerID)
		}
	})
}

func TestLossAfterAnOutageIsNamedAndNotTheOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(1))
		g.fake.Refuse(true)
		settle(2 * leaseEvery)
		g.fake.Steal(0)
		g.fake.Refuse(false)
		g.fake.DelayReplies(coordtest.Acquire, 4*time.Second, 1)
		settle(1100 * time.Millisecond)
		if _, err := g.Next(); !errors.Is(err, coord.ErrLeaseLost) || errors.Is(err, coordtest.ErrUnreachable) {
			t.Errorf("Next: %v", err)
		}
	})
}

func TestOutageWithinTheHorizonFailsNoCall(t *testing.T) {
	outages := map[string]func(*coordtest.Fake, bool){"dead link": (*coordtest.Fake).Outage, "refused": (*coordtest.Fake).Refuse}
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := lease(t, newFake(1))
				last := g.next()
				for range 20 {
					// In the worst case the last renewal was one interval and a fifth ago, and
					// one more attempt is under way when the outage ends.
					outage(g.fake, true)
					for end := time.Now().Add(leaseHorizon - leaseEvery*12/10 - 2*time.Second); time.Now().Before(end); {
						settle(50 * time.Millisecond)
						id := g.next()
						if id <= last {
							t.Fatalf("after %d came %d", last, id)
						}
						last = id
					}
					outage(g.fake, false)
					for range 177 {
						settle(50 * time.Millisecond)
						last = g.next()
					}
				}
				if n := g.fake.Count(coordtest.Acquire); n != 1 {
					t.Errorf("%d worker IDs were acquired", n)
				}
			})
		})
	}
}

func TestOutagePastTheHorizonIsExplainedAndEndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(1))
		settle(12 * time.Second)
		last := g.next()
		g.fake.Refuse(true)
		renewals := g.fake.CallsOf(coordtest.Renew)
		renewed := renewals[len(renewals)-1].At
		settle(time.Until(renewed.Add(leaseHorizon)))
		g.next() // the last tick of the window
		settle(time.Millisecond)

		_, err := g.Next()
		var ended *core.WindowEndedError
		if !errors.Is(err, core.ErrWindowEnded) || !errors.Is(err, coordtest.ErrUnreachable) || !errors.As(err, &ended) {
			t.Fatalf("Next: %v", err)
		}
		wantText(t, err, fmt.Sprintf("core: issue window ended: worker ID 0 could stamp until %s: renewal failed: coordtest: Renew of the fake: coordtest: back end unreachable; last renewed %s; service resumes by itself once the coordinator answers; check that it is up and reachable",
			at(renewed.Add(leaseHorizon+time.Millisecond)), at(renewed)))
		if end := renewed.Truncate(time.Millisecond).Add(leaseHorizon + time.Millisecond); !ended.Renewed.Equal(renewed) || !ended.Ended.Equal(end) || ended.WorkerID != 0 {
			t.Errorf("the error is %+v", ended)
		}

		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if _, err := g.NextContext(short); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, core.ErrWindowEnded) {
			t.Errorf("NextContext: %v", err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("NextContext took %v, its context 1s", took)
		}

		healed := time.Now().Add(20 * time.Second)
		time.AfterFunc(20*time.Second, func() { g.fake.Refuse(false) })
		id, err := g.NextContext(t.Context())
		if late := time.Since(healed); err != nil || id <= last || late < 0 || late > 2*time.Second {
			t.Errorf("NextContext: %d, %v, %v after the outage", id, err, late)
		}
	})
}

func TestServiceResumesWithinAnIntervalAfterADeadLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(1))
		for i := range 30 {
			g.fake.Outage(true)
			settle(leaseHorizon + time.Duration(100+i*270)*time.Millisecond)
			if _, err := g.Next(); !errors.Is(err, core.ErrWindowEnded) {
				t.Fatalf("Next: %v", err)
			}
			g.fake.Outage(false)
			began := time.Now()
			ids := make([]core.ID, 10)
			if n, err := g.Fill(t.Context(), ids); n != len(ids) || err != nil {
				t.Fatalf("Fill: %d, %v", n, err)
			}
			if took := time.Since(began); took > leaseEvery+100*time.Millisecond {
				t.Errorf("service resumed %v after the outage", took)
			}
			settle(time.Second)
		}
	})
}
