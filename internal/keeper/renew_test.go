package keeper_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/keeper"
	"github.com/unalike-id/unalike/internal/safetytest"
)

func TestRenewalsComeAtTheIntervalLessUpToAFifth(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		pass(20 * time.Minute)
		gaps := gapsOf(r.fake.Calls())
		least, most := slices.Min(gaps), slices.Max(gaps)
		if least < every*8/10 || most > every || least > every*85/100 || most < every*95/100 {
			t.Errorf("renewals came %v to %v apart, want %v less up to a fifth", least, most, every)
		}
		r.holds(1, 0)
	})
}

// A slow back end does not make renewals rarer: what was asked for is counted from
// when it was asked.
func TestSlowRepliesDoNotDelayTheNextRenewal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		r.fake.DelayReplies(coordtest.Renew, time.Second, coordtest.Forever)
		pass(5 * time.Minute)
		if most := slices.Max(gapsOf(r.fake.Calls())); most > every {
			t.Errorf("two renewals were %v apart, want at most %v", most, every)
		}
	})
}

func TestRenewalAsksForTheClockPlusTheHorizon(t *testing.T) {
	bubble(t, func(t *testing.T) {
		// A generator that runs ahead of its clock must not carry that over.
		r := start(t, 1, func(c *keeper.Config) { c.Limit, c.CatchUp = 60_000, 61_000 })
		for range 20 {
			pass(every)
			if end := r.gate.at().notAfter; !r.gate.stampUpTo(end) {
				t.Fatalf("tick %d is not stamped", end)
			}
		}
		for _, c := range r.fake.CallsOf(coordtest.Renew) {
			if want := scale.Tick(c.At.UnixMicro()) + horizon.Milliseconds(); c.Until != want {
				t.Errorf("a renewal asked for tick %d, want %d", c.Until, want)
			}
		}
	})
}

func TestNothingIsAskedForAboveTheLastTick(t *testing.T) {
	bubble(t, func(t *testing.T) {
		last := scale.Tick(time.Now().Add(40 * time.Second).UnixMicro())
		r := quiet(t, 1, func(c *keeper.Config) { c.Request.LastTick = last })
		r.stampFor(2 * time.Minute)
		for _, c := range r.fake.Calls() {
			if most := max(c.Until, c.Request.Until); most > last {
				t.Errorf("%v asked for tick %d, the layout ends at %d", c.Op, most, last)
			}
		}
		if got := r.gate.at().notAfter; got != last {
			safetytest.Of(t).Errorf("the window ends at tick %d, the layout at %d", got, last)
		}
		r.made(coordtest.Renew, 0, 0, 40) // most of them after the layout's end
		r.logged(`level=ERROR, msg="the time bits of the layout are spent: no IDs any more"`)
	})
}

func TestFailedRenewalLeavesTheWindowOpenAndUnchanged(t *testing.T) {
	fail := func(err error) func(*coordtest.Fake) {
		return func(f *coordtest.Fake) { f.Fail(coordtest.Renew, err, 5) }
	}
	each(t, map[string]func(*coordtest.Fake){
		"request lost":  func(f *coordtest.Fake) { f.LoseRequests(coordtest.Renew, 2) },
		"reply lost":    func(f *coordtest.Fake) { f.LoseReplies(coordtest.Renew, 2) },
		"reply late":    func(f *coordtest.Fake) { f.DelayReplies(coordtest.Renew, 3*time.Second, 2) },
		"request late":  func(f *coordtest.Fake) { f.DelayRequests(coordtest.Renew, 3*time.Second, 2) },
		"refused":       fail(coordtest.ErrUnreachable),
		"quarantined":   fail(&coord.QuarantinedError{}),
		"closed":        fail(coord.ErrClosed),
		"invalid":       fail(coord.ErrInvalid),
		"no worker ID":  fail(coord.ErrNoWorkerID),
		"unknown error": fail(errors.New("odd")),
	}, func(t *testing.T, fail func(*coordtest.Fake)) {
		r := start(t, 2)
		before := r.gate.at()
		fail(r.fake)
		within(t, 2*every, "the failure is explained", func() bool { return r.gate.reason() != nil })
		if now := r.gate.at(); now.shut || now.notAfter != before.notAfter || !r.gate.stamp() {
			safetytest.Of(t).Errorf("after a failed renewal the term is %+v, before it was %+v", now, before)
		}
		within(t, 4*time.Second, "the window grows again",
			func() bool { return r.gate.at().notAfter > before.notAfter })
		r.because(nil)
		r.holds(1, 0)
		r.made(coordtest.Acquire, 0, 1, 1)
	})
}

func TestRetriesComeWithGrowingPausesOfASecondAtMost(t *testing.T) {
	for _, interval := range []time.Duration{every, 400 * time.Millisecond} {
		bubble(t, func(t *testing.T) {
			r := start(t, 1, func(c *keeper.Config) { c.Lease.RenewEvery = interval })
			r.fake.Refuse(true)
			pass(time.Minute)
			r.paced(coordtest.Renew, 0, 50, min(interval, 900*time.Millisecond))
			if first := gapsOf(r.calls(coordtest.Renew, 0))[0]; first > 50*time.Millisecond {
				t.Errorf("the first retry came after %v", first)
			}
			r.fake.Refuse(false)
		})
	}
}

// A dead link is not told from a slow coordinator, which must not get more requests
// than one that answers: it is tried once in an interval. A deadline that follows a slow
// coordinator is no reason to notice later that it is back.
func TestServiceResumesSoonAfterAnOutage(t *testing.T) {
	const soon = every + 100*time.Millisecond
	each(t, map[string]struct {
		away func(*rig, bool)
		soon time.Duration
	}{
		"dead link": {func(r *rig, away bool) { r.fake.Outage(away) }, soon},
		"refused":   {func(r *rig, away bool) { r.fake.Refuse(away) }, 1100 * time.Millisecond},
		"slow": {func(r *rig, away bool) {
			if away {
				r.slowly(3 * time.Second)
				pass(time.Minute)
				r.slowly(time.Hour)
				pass(time.Minute)
			} else {
				r.slowly(10 * time.Millisecond)
			}
		}, soon},
	}, func(t *testing.T, c struct {
		away func(*rig, bool)
		soon time.Duration
	},
	) {
		r := start(t, 1)
		for i := range 60 {
			c.away(r, true)
			pass(horizon + 10*time.Millisecond + time.Duration(i)*330*time.Millisecond)
			if r.gate.stamp() {
				safetytest.Of(t).Fatal("an ID was stamped after the window's end")
			}
			c.away(r, false)
			r.stamps(c.soon)
			pass(10 * time.Second)
		}
		r.holds(1, 0) // nobody else took the worker ID
	})
}

func TestErrorThatTookLongIsPauseEnough(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		r.slowly(950 * time.Millisecond)
		r.line.set(func(l *line) {
			l.renewed = func(_, g coord.Grant, _ error) (coord.Grant, error) {
				return g,
					coordtest.ErrUnreachable
			}
		})
		pass(time.Minute)
		if most := slices.Max(gapsOf(r.calls(coordtest.Renew,
			0))); most > time.Second+10*time.Millisecond {
			t.Errorf("a retry came after %v", most)
		}
	})
}
