package keeper_test

import (
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/keeper"
)

func TestRenewalsComeAtTheIntervalLessUpToAFifth(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		pass(20 * time.Minute)
		gaps := gapsOf(r.fake.Calls())
		least, most := gaps[0], gaps[0]
		for _, g := range gaps {
			least, most = min(least, g), max(most, g)
		}
		if least < every*8/10 || most > every {
			t.Errorf("renewals came %v to %v apart, want %v less up to a fifth", least, most, every)
		}
		if least > every*85/100 || most < every*95/100 {
			t.Errorf("renewals came %v to %v apart: hardly any jitter", least, most)
		}
		if got := r.gate.published(); got != 1 {
			t.Errorf("%d terms were published, want 1 that grows", got)
		}
	})
}

// A slow back end does not make renewals rarer: what was asked for is counted from
// when it was asked.
func TestSlowRepliesDoNotDelayTheNextRenewal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		r.fake.DelayReplies(coordtest.Renew, time.Second, coordtest.Forever)
		pass(5 * time.Minute)
		for _, g := range gapsOf(r.fake.Calls()) {
			if g > every {
				t.Errorf("two renewals were %v apart, want at most %v", g, every)
			}
		}
	})
}

func TestRenewalAsksForTheClockPlusTheHorizon(t *testing.T) {
	bubble(t, func(t *testing.T) {
		// A generator that runs ahead of its clock must not carry that over.
		r := start(t, 1, func(c *keeper.Config) { c.Limit = 60_000 })
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
		r := start(t, 1, func(c *keeper.Config) { c.Request.LastTick = last })
		r.stampFor(2 * time.Minute)
		for _, c := range r.fake.Calls() {
			if c.Until > last || c.Request.Until > last {
				t.Errorf("%v asked for tick %d, the layout ends at %d", c.Op, max(c.Until, c.Request.Until), last)
			}
		}
		if got := r.gate.at().notAfter; got != last {
			t.Errorf("the window ends at tick %d, the layout at %d", got, last)
		}
		if n := r.fake.Count(coordtest.Renew); n > 40 {
			t.Errorf("%d renewals in 2 minutes, most of them after the layout's end", n)
		}
	})
}

func TestFailedRenewalLeavesTheWindowOpenAndUnchanged(t *testing.T) {
	fails := map[string]func(*coordtest.Fake){
		"request lost":  func(f *coordtest.Fake) { f.LoseRequests(coordtest.Renew, 2) },
		"reply lost":    func(f *coordtest.Fake) { f.LoseReplies(coordtest.Renew, 2) },
		"reply late":    func(f *coordtest.Fake) { f.DelayReplies(coordtest.Renew, 3*time.Second, 2) },
		"request late":  func(f *coordtest.Fake) { f.DelayRequests(coordtest.Renew, 3*time.Second, 2) },
		"refused":       func(f *coordtest.Fake) { f.Fail(coordtest.Renew, coordtest.ErrUnreachable, 5) },
		"quarantined":   func(f *coordtest.Fake) { f.Fail(coordtest.Renew, &coord.QuarantinedError{}, 5) },
		"closed":        func(f *coordtest.Fake) { f.Fail(coordtest.Renew, coord.ErrClosed, 5) },
		"invalid":       func(f *coordtest.Fake) { f.Fail(coordtest.Renew, coord.ErrInvalid, 5) },
		"no worker ID":  func(f *coordtest.Fake) { f.Fail(coordtest.Renew, coord.ErrNoWorkerID, 5) },
		"unknown error": func(f *coordtest.Fake) { f.Fail(coordtest.Renew, errors.New("odd"), 5) },
	}
	for name, fail := range fails {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := start(t, 2)
				before := r.gate.at()
				fail(r.fake)
				within(t, 2*every, "the failure is explained", func() bool { return r.gate.reason() != nil })
				if now := r.gate.at(); now.shut || now.notAfter != before.notAfter || !r.gate.stamp() {
					t.Errorf("after a failed renewal the term is %+v, before it was %+v", now, before)
				}
				within(t, 4*time.Second, "the window grows again", func() bool { return r.gate.at().notAfter > before.notAfter })
				if why := r.gate.reason(); why != nil {
					t.Errorf("after a renewal that succeeded the reason is still %q", why)
				}
				if n := r.gate.published(); n != 1 || r.fake.Count(coordtest.Acquire) != 1 {
					t.Errorf("%d terms were published and %d worker IDs acquired, want 1", n, r.fake.Count(coordtest.Acquire))
				}
			})
		})
	}
}

func TestRetriesComeWithGrowingPausesOfASecondAtMost(t *testing.T) {
	for _, interval := range []time.Duration{every, 400 * time.Millisecond} {
		t.Run(interval.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := start(t, 1, func(c *keeper.Config) { c.Lease.RenewEvery = interval })
				r.fake.Refuse(true)
				pass(time.Minute)
				gaps := gapsOf(r.calls(coordtest.Renew, 0))
				most := min(interval, time.Second)
				if gaps[0] > 50*time.Millisecond {
					t.Errorf("the first retry came after %v", gaps[0])
				}
				for i, g := range gaps {
					if g > most || i > 10 && g < most/2 {
						t.Errorf("retry %d came after %v, want %v to %v", i, g, most/2, most)
					}
				}
				r.fake.Refuse(false)
			})
		})
	}
}

// A dead link is not told from a slow coordinator, which must not get more requests
// than one that answers: it is tried once in an interval.
func TestServiceResumesSoonAfterAnOutage(t *testing.T) {
	outages := map[string]func(*coordtest.Fake, bool){"dead link": (*coordtest.Fake).Outage, "refused": (*coordtest.Fake).Refuse}
	soon := map[string]time.Duration{"dead link": every + 100*time.Millisecond, "refused": 1100 * time.Millisecond}
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := start(t, 1)
				for i := range 60 {
					outage(r.fake, true)
					pass(horizon + 10*time.Millisecond + time.Duration(i)*330*time.Millisecond)
					if r.gate.stamp() {
						t.Fatal("an ID was stamped after the window's end")
					}
					outage(r.fake, false)
					within(t, soon[name], "an ID is stamped again", r.gate.stamp)
					pass(10 * time.Second)
				}
				if n := r.gate.published(); n != 1 {
					t.Errorf("%d terms were published, want 1: nobody else took the worker ID", n)
				}
			})
		})
	}
}

func TestErrorThatTookLongIsPauseEnough(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		r.slowly(950 * time.Millisecond)
		r.line.set(func(l *line) {
			l.renewed = func(_, g coord.Grant, _ error) (coord.Grant, error) { return g, coordtest.ErrUnreachable }
		})
		pass(time.Minute)
		for i, g := range gapsOf(r.calls(coordtest.Renew, 0)) {
			if g > time.Second+10*time.Millisecond {
				t.Errorf("retry %d came after %v", i, g)
			}
		}
	})
}
