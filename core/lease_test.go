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
	"github.com/unalike-id/unalike/internal/safetytest"
)

// The tests here run a whole generator on the fake back end, in virtual time.

const (
	leaseHorizon = coord.DefaultHorizon
	leaseEvery   = coord.DefaultTTL / 3
)

// leased is a generator with what it stands on.
type leased struct {
	*core.Generator
	t     *testing.T
	fake  *coordtest.Fake
	clock *clocktest.Shifted
	cfg   core.Config
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

// unleased is what a generator is to be started on.
func unleased(t *testing.T, f *coordtest.Fake, edit ...func(*core.Config)) *leased {
	t.Helper()
	g := &leased{t: t, fake: f, clock: clocktest.NewShifted(time.Now())}
	g.cfg = leaseConfig(g.clock)
	for _, e := range edit {
		e(&g.cfg)
	}
	return g
}

// started takes a generator that New or Start has returned, and closes it at the end of the test.
func (g *leased) started(gen *core.Generator, err error) *leased {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
	g.Generator = gen
	g.t.Cleanup(func() { _ = g.Close(context.Background()) }) // for tests that did not
	return g
}

// lease starts a generator.
func lease(t *testing.T, f *coordtest.Fake, edit ...func(*core.Config)) *leased {
	t.Helper()
	return leaseOf(t, f.Client(), f, edit...)
}

// leaseOf starts a generator on a coordinator that f may stand behind.
func leaseOf(t *testing.T, c coord.Coordinator, f *coordtest.Fake,
	edit ...func(*core.Config),
) *leased {
	t.Helper()
	g := unleased(t, f, edit...)
	return g.started(core.New(t.Context(), c, g.cfg))
}

// begin starts a generator without waiting for it.
func begin(t *testing.T, f *coordtest.Fake, edit ...func(*core.Config)) *leased {
	t.Helper()
	g := unleased(t, f, edit...)
	return g.started(core.Start(f.Client(), g.cfg))
}

// tick is the generator's clock in ticks.
func (g *leased) tick() int64 { return g.clock.Time().Sub(g.cfg.Layout.Epoch).Milliseconds() }

// next is Next, and fails the test if it does.
func (g *leased) next() core.ID {
	g.t.Helper()
	id, err := g.Next()
	if err != nil {
		g.t.Fatalf("Next: %v", err)
	}
	return id
}

// letSettled lets time pass, and everything in the bubble come to rest.
func letSettled(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// wantText compares the whole text of an error, and what it wraps.
func wantText(t *testing.T, err error, want string, wraps ...error) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("the error is\n%v\nwant\n%s", err, want)
	}
	for _, w := range wraps {
		if !errors.Is(err, w) {
			t.Errorf("%v\ndoes not wrap %v", err, w)
		}
	}
}

// at prints the time of the bubble's clock as errors do.
func at(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func TestStolenLeaseIsNamedAndAnotherWorkerIDGoesOnInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(2))
		letSettled(2 * time.Second)
		last := g.next()
		acquired := g.fake.CallsOf(coordtest.Acquire)[0]
		g.fake.DelayReplies(coordtest.Acquire, time.Second, 1)
		g.fake.Steal(0)
		letSettled(10 * time.Millisecond)

		_, err := g.Next()
		wantText(t, err, fmt.Sprintf("core: issue window ended: worker ID 0 was given up at %s: "+
			"coord: lease lost: %v; "+
			`the slot has generation 2, holder "thief"; last renewed %s; service resumes by itself once `+
			`a worker ID `+
			"is leased anew", at(g.clock.Time().Add(-10*time.Millisecond)), acquired.Result,
			at(acquired.At)),
			core.ErrWindowEnded, coord.ErrLeaseLost)
		if h := g.Health(); h.Healthy || h.WindowLeft != 0 {
			t.Errorf("a worker ID that is lost has a window left: %+v", h)
		}

		letSettled(time.Second)
		id := g.next()
		if p := g.cfg.Layout.Decompose(id); p.WorkerID != 1 || id <= last {
			safetytest.Of(t).Errorf("after %d came %d of worker ID %d", last, id, p.WorkerID)
		}
	})
}

func TestOutageWithinTheHorizonFailsNoCall(t *testing.T) {
	for name, outage := range map[string]func(*coordtest.Fake, bool){
		"dead link": (*coordtest.Fake).Outage, "refused": (*coordtest.Fake).Refuse,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := lease(t, newFake(1))
				var last core.ID
				work := func(d time.Duration) {
					for end := time.Now().Add(d); time.Now().Before(end); letSettled(50 * time.Millisecond) {
						id := g.next()
						if id <= last {
							safetytest.Of(t).Fatalf("after %d came %d", last, id)
						}
						last = id
					}
				}
				for range 20 {
					// In the worst case the last renewal was one interval and a fifth ago, and
					// one more attempt is under way when the outage ends.
					outage(g.fake, true)
					work(leaseHorizon - leaseEvery*12/10 - 2*time.Second)
					outage(g.fake, false)
					work(9 * time.Second)
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
		letSettled(12 * time.Second)
		last := g.next()
		g.fake.Refuse(true)
		renewals := g.fake.CallsOf(coordtest.Renew)
		renewed := renewals[len(renewals)-1].At
		letSettled(time.Until(renewed.Add(leaseHorizon)))
		g.next() // the last tick of the window
		letSettled(time.Millisecond)

		_, err := g.Next()
		wantText(t, err, fmt.Sprintf("core: issue window ended: worker ID 0 could stamp until %s: "+
			"renewal failed: coordtest: Renew of the fake: coordtest: back end unreachable; last renewed "+
			"%s; service resumes by itself once the coordinator answers; check that it is up and reachable",
			at(renewed.Add(leaseHorizon+time.Millisecond)), at(renewed)), core.ErrWindowEnded,
			coordtest.ErrUnreachable)
		ended, ok := errors.AsType[*core.WindowEndedError](err)
		end := renewed.Truncate(time.Millisecond).Add(leaseHorizon + time.Millisecond)
		if !ok || !ended.Renewed.Equal(renewed) || !ended.Ended.Equal(end) || ended.WorkerID != 0 {
			t.Errorf("the error is %+v", ended)
		}

		healed := time.Now().Add(20 * time.Second)
		time.AfterFunc(20*time.Second, func() { g.fake.Refuse(false) })
		id, err := g.NextContext(t.Context())
		if delay := time.Since(healed); err != nil || id <= last || delay < 0 || delay > 2*time.Second {
			t.Errorf("NextContext: %d, %v, %v after the outage", id, err, delay)
		}
	})
}
