package core_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
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
		wantText(t, err, fmt.Sprintf("core: issue window ended: worker ID 0 could stamp until %s: coord: lease lost: %v; the slot has generation 2, holder %q; last renewed %s; service resumes by itself once the coordinator answers; check that it is up and reachable",
			at(acquired.At.Add(leaseHorizon+time.Millisecond)), acquired.Result, "thief", at(acquired.At)))

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

func TestServiceResumesWithin2sAfterADeadLink(t *testing.T) {
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
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("service resumed %v after the outage", took)
			}
			settle(time.Second)
		}
	})
}

func TestReadyFollowsTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(1))
		only, cancel := context.WithCancel(t.Context())
		cancel() // Ready only looks
		if err := g.Ready(only); err != nil {
			t.Errorf("Ready at the start: %v", err)
		}
		g.fake.Refuse(true)
		settle(20 * time.Second)
		if err := g.Ready(only); err != nil {
			t.Errorf("Ready inside the window: %v", err)
		}
		settle(15 * time.Second)
		if err := g.Ready(only); !errors.Is(err, core.ErrWindowEnded) || !errors.Is(err, context.Canceled) {
			t.Errorf("Ready after the window: %v", err)
		}
		time.AfterFunc(5*time.Second, func() { g.fake.Refuse(false) })
		began := time.Now()
		if err := g.Ready(t.Context()); err != nil {
			t.Errorf("Ready: %v", err)
		}
		if took := time.Since(began); took < 5*time.Second || took > 7*time.Second {
			t.Errorf("ready after %v, the outage was over after 5s", took)
		}
		if err := g.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := g.Ready(t.Context()); !errors.Is(err, core.ErrClosed) {
			t.Errorf("Ready after Close: %v", err)
		}
	})
}

// Traffic that waits for readiness makes no IDs, so nobody but Ready itself can tell
// the keeper that the window is over.
func TestReadyWakesTheKeeperAfterAStepForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(1))
		settle(time.Second)
		g.clock.Step(time.Hour)
		began := time.Now()
		if err := g.Ready(t.Context()); err != nil {
			t.Errorf("Ready: %v", err)
		}
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("ready %v after the step", took)
		}
	})
}

func TestHealthTellsOfAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(1))
		for range 7 {
			g.next()
		}
		started := time.Now()
		g.fake.Refuse(true)
		settle(10 * time.Second)

		h := g.Health()
		w := h.Workers[0]
		if !h.Healthy || h.Err != nil || w.Err != nil || !errors.Is(w.Failing, coordtest.ErrUnreachable) {
			t.Errorf("inside the window: %+v", h)
		}
		if left := leaseHorizon - 10*time.Second + time.Millisecond; h.WindowLeft != left || w.WindowLeft != left {
			t.Errorf("%v and %v of the window are left, want %v", h.WindowLeft, w.WindowLeft, left)
		}
		if !h.LastRenewal.Equal(started) || !w.Since.Equal(started) || w.WorkerID != 0 || w.Generation != 1 || h.Issued != 7 {
			t.Errorf("started at %v: %+v", started, h)
		}

		settle(21 * time.Second)
		for range 3 {
			_, _ = g.Next()
		}
		h = g.Health()
		if h.Healthy || !errors.Is(h.Err, core.ErrWindowEnded) || !errors.Is(h.Workers[0].Err, core.ErrWindowEnded) || h.WindowLeft != 0 {
			t.Errorf("after the window: %+v", h)
		}
		if h.Errors != (core.ErrorCounts{WindowEnded: 3}) {
			t.Errorf("after three refusals the errors are %+v", h.Errors)
		}

		g.fake.Refuse(false)
		settle(2 * time.Second)
		h = g.Health()
		if !h.Healthy || h.Err != nil || h.Workers[0].Failing != nil || time.Since(h.LastRenewal) > 2*time.Second || h.WindowLeft < leaseHorizon-2*time.Second {
			t.Errorf("after the outage: %+v", h)
		}
	})
}

func TestOnChangeTellsEveryTransition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var told []string
		g := lease(t, newFake(2), func(c *core.Config) {
			c.OnChange = func(h core.Health) {
				what := fmt.Sprint(h.Workers[0].WorkerID, " healthy")
				for _, err := range []error{core.ErrWindowEnded, core.ErrClockRollback, core.ErrWindowNotOpen, core.ErrClosed} {
					if errors.Is(h.Err, err) {
						what = fmt.Sprint(h.Workers[0].WorkerID, " ", err)
					}
				}
				mu.Lock()
				defer mu.Unlock()
				told = append(told, what)
			}
		})
		expect := func(want ...string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if strings.Join(told, "; ") != strings.Join(want, "; ") {
				t.Errorf("told was %q, want %q", told, want)
			}
			told = nil
		}
		settle(time.Minute)
		expect() // renewals are no change

		g.fake.Refuse(true)
		settle(40 * time.Second)
		expect("0 core: issue window ended")
		g.fake.Refuse(false)
		settle(2 * time.Second)
		expect("0 healthy")

		g.fake.DelayReplies(coordtest.Acquire, time.Second, 1)
		thief := g.fake.Steal(0)
		settle(2 * time.Second)
		expect("0 core: issue window ended", "1 healthy")

		g.next()
		g.clock.Step(-10 * time.Second) // the thief has the only other worker ID
		settle(time.Second)
		expect("1 core: clock stepped back")
		settle(15 * time.Second)
		expect("1 healthy")

		if err := g.fake.Client().Release(t.Context(), thief, 0); err != nil {
			t.Fatal(err)
		}
		g.next()
		g.clock.Step(-time.Minute)
		settle(time.Second)
		mu.Lock()
		if len(told) == 0 || told[len(told)-1] != "0 healthy" {
			t.Errorf("after another worker ID was taken, told was %q", told)
		}
		told = nil
		mu.Unlock()
		if err := g.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
		expect("0 core: generator closed")
	})
}

// ahead makes a worker ID's window begin some time from now, as a predecessor does
// whose clock was ahead.
func ahead(t *testing.T, f *coordtest.Fake, l core.Layout, d time.Duration) (opens time.Time) {
	t.Helper()
	opens = time.Now().Add(d)
	g := f.Steal(0)
	if _, err := f.Client().Renew(t.Context(), g, opens.Sub(l.Epoch).Milliseconds()-1); err != nil {
		t.Fatal(err)
	}
	f.Expire(0)
	return opens
}

func TestNewWaitsForItsWindowAndSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, log := newFake(1), new(bytes.Buffer)
		cfg := leaseConfig(clocktest.NewShifted(time.Now()))
		cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
		opens, began := ahead(t, f, cfg.Layout, 20*time.Second), time.Now()
		g, err := core.New(t.Context(), f.Client(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = g.Close(context.Background()) }()
		// Within the tolerance, Next waits by itself.
		if late := time.Since(opens); late < -6*time.Millisecond || late > 0 {
			t.Errorf("New returned %v after the window had opened", late)
		}
		want := fmt.Sprintf(`msg="waiting for the issue window to open" reason="core: issue window not open yet: worker ID 0 may stamp from %s on, the clock says %s; wait, or check this machine's clock"`, at(opens), at(began))
		if n := strings.Count(log.String(), want); n != 1 {
			t.Errorf("the log has %d times\n%s\nin\n%s", n, want, log)
		}
		id, err := g.Next()
		if p := cfg.Layout.Decompose(id); err != nil || !p.Time.Equal(opens) || p.Sequence != 0 {
			t.Errorf("the first ID is of %v, %v, the window opened at %v", p, err, opens)
		}
		if n := f.Count(coordtest.Renew); n < 3 {
			t.Errorf("%d renewals in 20 s of waiting", n)
		}
	})
}

func TestNewWhoseContextEndsWhileItWaitsReleasesTheWorkerID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		cfg := leaseConfig(clocktest.NewShifted(time.Now()))
		opens := ahead(t, f, cfg.Layout, 20*time.Second)
		stored := f.Slot(0).NotAfter
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		g, err := core.New(ctx, f.Client(), cfg)
		if g != nil || !errors.Is(err, core.ErrWindowNotOpen) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("New: %v, %v", g, err)
		}
		wantText(t, err, fmt.Sprintf("core: starting a generator: context deadline exceeded\ncore: issue window not open yet: worker ID 0 may stamp from %s on, the clock says %s; wait, or check this machine's clock", at(opens), at(time.Now())))
		if h, s := f.Holders(), f.Slot(0); len(h) != 0 || s.NotAfter != stored {
			t.Errorf("held are %v; stored is %d, it was %d", h, s.NotAfter, stored)
		}
	})
}

// A quarantined namespace grants windows that are empty at first.
func TestNewWaitsForTheFloor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		cfg := leaseConfig(clocktest.NewShifted(time.Now()))
		const wait = 45 * time.Second
		opens := time.Now().Add(wait)
		f.RaiseFloor(opens.Sub(cfg.Layout.Epoch).Milliseconds() - 1)
		g, err := core.New(t.Context(), f.Client(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = g.Close(context.Background()) }()
		id, err := g.Next()
		if p := cfg.Layout.Decompose(id); err != nil || !p.Time.Equal(opens) || time.Since(opens) > time.Millisecond {
			t.Errorf("at %v the first ID is of %v, %v, the floor is passed at %v", time.Now(), p, err, opens)
		}
		if n := f.Count(coordtest.Acquire); n != 1 {
			t.Errorf("%d worker IDs were acquired", n)
		}
	})
}

func TestNewWithAnotherLayoutPrintsBoth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(2))
		cfg := leaseConfig(clocktest.NewShifted(time.Now()))
		cfg.Layout.SequenceBits = 11
		_, err := core.New(t.Context(), g.fake.Client(), cfg)
		if !errors.Is(err, coord.ErrLayoutMismatch) {
			t.Errorf("New: %v", err)
		}
		wantText(t, err, fmt.Sprintf("core: starting a generator: coord: layout mismatch: namespace %q has layout %v, this generator has %v; use the stored layout or another namespace", "fake", g.layout, cfg.Layout))
		if h := g.fake.Holders(); len(h) != 1 {
			t.Errorf("held are %v", h)
		}
	})
}

func TestNewOfAnUnreachableBackEndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		f.Refuse(true)
		_, err := core.New(t.Context(), f.Client(), leaseConfig(clocktest.NewShifted(time.Now())))
		wantText(t, err, "core: starting a generator: no worker ID after 15s of trying: coordtest: Acquire of the fake: coordtest: back end unreachable")
	})
}

// With one worker ID in the namespace, every restart goes on above all that came
// before, whatever the clock did meanwhile.
func TestRestartsWithOneWorkerIDNeverGoBack(t *testing.T) {
	for _, crash := range []bool{false, true} {
		t.Run(fmt.Sprintf("crash=%t", crash), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(1)
				seen, last := map[core.ID]bool{}, core.ID(0)
				step := time.Duration(0)
				for i := range 25 {
					cfg := leaseConfig(clocktest.NewShifted(time.Now().Add(step)))
					client := f.Client()
					g, err := core.New(t.Context(), client, cfg)
					if err != nil {
						t.Fatal(err)
					}
					for range 5000 { // more than a tick has
						id, err := g.Next()
						if err != nil || id <= last || seen[id] {
							t.Fatalf("start %d: after %d came %d, %v", i, last, id, err)
						}
						seen[id], last = true, id
					}
					if crash {
						_ = client.Close() // nothing is released
						f.Expire(0)
					}
					if err := g.Close(t.Context()); (err != nil) != crash {
						t.Fatalf("Close: %v", err)
					}
					step = []time.Duration{0, -time.Second, 5 * time.Second}[i%3]
				}
			})
		})
	}
}

func TestMoreStripesThanWorkerIDsLeavesNothingLeased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(2)
		cfg := leaseConfig(clocktest.NewShifted(time.Now()))
		cfg.Stripes = 3
		g, err := core.New(t.Context(), f.Client(), cfg)
		if g != nil || !errors.Is(err, coord.ErrNoWorkerID) {
			t.Errorf("New: %v, %v", g, err)
		}
		const want = `core: starting a generator: coord: no free worker ID in namespace "fake": 2 of 2 are held; the next is free at `
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("New: %v, want %s...", err, want)
		}
		if h := f.Holders(); len(h) != 0 {
			t.Errorf("held are %v", h)
		}
	})
}

func TestStripesWithEnoughWorkerIDsShareThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(3), func(c *core.Config) { c.Stripes = 3 })
		if h := g.fake.Holders(); len(h) != 3 || len(g.Health().Workers) != 3 {
			t.Errorf("held are %v", h)
		}
		g.fake.Steal(0)
		settle(time.Second)
		for range 100 { // two of three go on
			g.next()
		}
		h := g.Health()
		if !h.Healthy || h.Err != nil {
			t.Errorf("with two of three worker IDs: %+v", h)
		}
	})
}

func TestCloseWhileAWorkerIDIsAcquired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(2))
		g.next()
		g.fake.DelayReplies(coordtest.Acquire, 2*time.Second, 1)
		g.fake.Steal(0)
		settle(100 * time.Millisecond)
		waiting := make(chan error, 1)
		go func() {
			_, err := g.NextContext(t.Context())
			waiting <- err
		}()
		settle(100 * time.Millisecond)
		began := time.Now()
		if err := g.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("Close took %v", took)
		}
		if err := <-waiting; !errors.Is(err, core.ErrClosed) {
			t.Errorf("NextContext: %v", err)
		}
		if _, err := g.Next(); !errors.Is(err, core.ErrClosed) {
			t.Errorf("Next after Close: %v", err)
		}
		if h := g.fake.Holders(); len(h) != 1 || h[0] != 0 {
			t.Errorf("held are %v, want the thief's 0 alone", h)
		}
	})
}

func TestCloseEndsWaitsAtOnceEvenIfTheBackEndHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(1))
		g.fake.Outage(true)
		settle(leaseHorizon + 10*time.Millisecond)
		ended := make(chan time.Time, 2)
		for _, wait := range []func() error{
			func() error { _, err := g.NextContext(t.Context()); return err },
			func() error { return g.Ready(t.Context()) },
		} {
			go func() {
				if err := wait(); !errors.Is(err, core.ErrClosed) {
					t.Errorf("a wait ended with %v", err)
				}
				ended <- time.Now()
			}()
		}
		settle(10 * time.Millisecond)
		began := time.Now()
		_ = g.Close(t.Context()) // its error is the next test's
		for range 2 {
			if late := (<-ended).Sub(began); late > 10*time.Millisecond {
				t.Errorf("a wait ended %v after Close was called", late)
			}
		}
	})
}

func TestCloseSaysThatAWorkerIDIsNotReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(1))
		g.fake.Refuse(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		err := g.Close(ctx)
		if took := time.Since(began); took > time.Second {
			t.Errorf("Close took %v, its context 1s", took)
		}
		const want = "not released, it becomes free when its lease ends: context deadline exceeded"
		if err == nil || !strings.HasPrefix(err.Error(), "core: closing a generator: worker ID ") || !strings.Contains(err.Error(), want) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close: %v, want %s", err, want)
		}
		if again := g.Close(t.Context()); again == nil || again.Error() != err.Error() {
			t.Errorf("Close: %v, and again: %v", err, again)
		}
	})
}

func TestStepBackWithoutAFreeWorkerIDIsReportedOnceAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(1))
		settle(3 * time.Second)
		last, lastAt := g.next(), g.clock.Time()
		g.clock.Step(-10 * time.Second)
		settle(time.Second)
		for range 5 {
			began := time.Now()
			_, err := g.NextContext(t.Context())
			if !errors.Is(err, core.ErrClockRollback) || time.Since(began) != 0 {
				t.Fatalf("NextContext: %v after %v", err, time.Since(began))
			}
			now := g.clock.Time()
			wantText(t, err, fmt.Sprintf("core: clock stepped back by %v: it says %s, the last ID of worker ID 0 carries %s; 5ms is tolerated; service resumes by itself when the clock has caught up or another worker ID is leased", lastAt.Sub(now), at(now), at(lastAt)))
			settle(500 * time.Millisecond)
		}
		settle(8 * time.Second)
		if id := g.next(); id <= last {
			t.Errorf("after %d came %d", last, id)
		}
		if h := g.Health(); h.Rollbacks != 1 || h.Errors.ClockRollback != 5 {
			t.Errorf("one step back and five refusals: %d rollbacks, %+v", h.Rollbacks, h.Errors)
		}
	})
}

func TestStepBackIsHealedByAnotherWorkerID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(3))
		settle(3 * time.Second)
		seen := map[core.ID]bool{}
		for range 4 {
			for range 100 {
				id := g.next()
				if seen[id] {
					t.Fatalf("%d twice", id)
				}
				seen[id] = true
				settle(10 * time.Millisecond)
			}
			g.clock.Step(-500 * time.Millisecond)
			settle(10 * time.Millisecond)
			if h := g.fake.Holders(); len(h) != 1 || h[0] != g.Health().Workers[0].WorkerID {
				t.Errorf("held are %v, in use is %+v", h, g.Health().Workers)
			}
		}
	})
}

// A raised floor: IDs go on to the end of the window, nothing is stamped up to the
// floor, and then they go on above it.
func TestQuarantineLeavesAGapAndEndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(1))
		start := time.Now()
		floor := g.tick() + 40_000
		g.fake.RaiseFloor(floor)
		var before, after int
		for time.Since(start) < time.Minute {
			settle(20 * time.Millisecond)
			id, err := g.Next()
			if err != nil {
				if !errors.Is(err, core.ErrWindowNotOpen) && !errors.Is(err, core.ErrWindowEnded) {
					t.Fatalf("Next: %v", err)
				}
				if since := time.Since(start); since <= 30*time.Second || since > 40*time.Second {
					t.Fatalf("%v after the floor was raised: %v", since, err)
				}
				continue
			}
			switch tick := int64(g.layout.Decompose(id).Time.Sub(g.layout.Epoch) / time.Millisecond); {
			case tick <= floor-10_000:
				before++
			case tick > floor:
				after++
			default:
				t.Fatalf("tick %d was stamped, nothing may be in (%d, %d]", tick, floor-10_000, floor)
			}
		}
		if before < 1400 || after < 900 || g.Health().Workers[0].WorkerID != 0 {
			t.Errorf("%d IDs before and %d after the gap", before, after)
		}
	})
}

// The change to the piece above a floor is neither a renewal nor a new worker ID.
func TestPieceIsNoRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(1))
		start := time.Now()
		g.fake.RaiseFloor(g.tick() + 32_000)
		settle(25 * time.Second)
		g.fake.Refuse(true)
		before := g.Health()
		settle(8 * time.Second)
		g.next()
		h := g.Health()
		if w := h.Workers[0]; !w.Since.Equal(start) || !w.LastRenewal.Equal(before.LastRenewal) || !h.LastRenewal.Equal(before.LastRenewal) {
			t.Errorf("held since %v and renewed at %v; Health says %+v", start, before.LastRenewal, w)
		}
	})
}
