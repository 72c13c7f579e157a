package keeper_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/keeper"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// slowly makes replies take so long.
func (r *rig) slowly(d time.Duration) {
	r.line.set(func(l *line) { l.slow = func(coordtest.Op) time.Duration { return d } })
}

// lease sets the times of a lease.
func lease(ttl, horizon time.Duration) func(*keeper.Config) {
	return func(c *keeper.Config) {
		c.Lease = coord.LeaseConfig{TTL: ttl, Horizon: horizon, RenewEvery: min(ttl, horizon) / 3}
		c.Request.TTL, c.Horizon = ttl, horizon.Milliseconds()
	}
}

func TestSlowCoordinatorServesWithoutAGap(t *testing.T) {
	type times struct{ ttl, horizon, latency time.Duration }
	each(t, map[string]times{
		"a little slow":       {ttl, horizon, 800 * time.Millisecond},
		"slow":                {ttl, horizon, 1600 * time.Millisecond},
		"very slow":           {ttl, horizon, 3 * time.Second},
		"hardly there":        {ttl, horizon, 10 * time.Second},
		"a short TTL":         {2 * time.Second, horizon, 500 * time.Millisecond},
		"short times":         {2 * time.Second, 4 * time.Second, 500 * time.Millisecond},
		"a slow disk, static": {ttl, 3 * time.Second, 1100 * time.Millisecond},
	}, func(t *testing.T, tt times) {
		r := newRig(t, 1, lease(tt.ttl, tt.horizon))
		r.slowly(tt.latency)
		r.start()
		r.stampFor(tt.horizon)
		began, before := time.Now(), r.fake.Count(coordtest.Renew)
		r.serves(5 * time.Minute)
		if 3*tt.latency < tt.horizon/2 { // a hiccup
			r.slowly(3 * tt.latency)
			pass(min(tt.ttl, tt.horizon) / 3)
			r.slowly(tt.latency)
		}
		r.serves(5 * time.Minute)
		// About one call for each renewal.
		interval := max(min(tt.ttl, tt.horizon)/3*8/10, tt.latency)
		r.made(coordtest.Renew, before, 1, int(time.Since(began)/interval)+4)
	})
}

func TestAtMostTwoRenewalsAreUnderWay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		r.slowly(16 * time.Second) // longer than any call may take
		within(t, 2*every, "two renewals are under way", func() (two bool) {
			r.line.set(func(l *line) { two = l.underWay == 2 })
			return two
		})
		r.fake.Expire(0) // a hint makes one more
		pass(5 * time.Minute)
		r.line.set(func(l *line) {
			if l.most != 2 {
				t.Errorf("%d renewals were under way together, want 2", l.most)
			}
		})
	})
}

func TestOneReplyOfTwoCounts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		r.fake.DelayReplies(coordtest.Renew, 2*time.Second, 1)
		r.fake.DelayReplies(coordtest.Renew, 3*time.Second, 1)
		within(t, every, "a renewal is under way",
			func() bool { return r.fake.Count(coordtest.Renew) == 1 })
		end := r.gate.at().notAfter
		pass(1900 * time.Millisecond)
		r.made(coordtest.Renew, 0, 2, 2)
		if got := r.gate.at().notAfter; got != end {
			safetytest.Of(t).Errorf("the window ends at %d before the first reply, it was %d", got, end)
		}
		pass(100 * time.Millisecond)
		first := r.calls(coordtest.Renew, 0)[0]
		r.line.set(func(l *line) {
			if got := r.gate.at().notAfter; l.underWay != 0 || got < first.Until {
				t.Errorf("after the first reply %d renewals are under way, and the window ends at %d, asked "+
					"for was %d",
					l.underWay, got, first.Until)
			}
		})
		pass(2500 * time.Millisecond) // the second reply, if anybody waited for it
		r.made(coordtest.Renew, 0, 2, 3)
		r.because(nil)
	})
}

// A coordinator that is merely slow has nothing more to store for a second call. What
// is asked for is worth having all the same.
func TestSecondRenewalAsksForTheSame(t *testing.T) {
	const short = 3 * time.Second
	bubble(t, func(t *testing.T) {
		r := start(t, 1, lease(ttl, short))
		r.fake.Outage(true)
		pass(20 * time.Second)
		r.made(coordtest.Renew, 0, 10, 100)
		calls := r.calls(coordtest.Renew, 0)
		if calls[1].Until != calls[0].Until {
			t.Errorf("the second call asked for %d, the first for %d", calls[1].Until, calls[0].Until)
		}
		for i, c := range calls {
			left := time.Duration(c.Until-scale.Tick(c.At.UnixMicro())) * time.Millisecond
			if left < short/2 || left > short {
				t.Errorf("call %d asked for a window of %v", i, left)
			}
		}
	})
}

// While a renewal is under way, the loop goes on: a piece that is due is not held up.
func TestPieceIsUsedWhileARenewalIsUnderWay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		floor := r.gate.at().notAfter + 1
		r.led.raiseFloor(floor, 4)
		pass(2 * every)
		r.fake.Outage(true)
		pass(time.Duration(floor+100-r.now()) * time.Millisecond)
		r.stamps(0)
		if n := r.gate.published(); n != 2 {
			t.Errorf("%d terms were published, want 2", n)
		}
	})
}

func TestSlowReleaseSucceeds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 1)
		r.slowly(6 * time.Second)
		r.start()
		pass(time.Minute)
		if err := r.lasts(0, ttl, r.close); err != nil {
			t.Errorf("Stop: %v", err)
		}
		r.made(coordtest.Release, 0, 1, 1)
	})
}

// Whoever was started together with a thousand others, and timed out together with
// them, does not come back together with them.
func TestAcquisitionsThatTimedOutTogetherComeBackApart(t *testing.T) {
	type failure struct {
		fault func(*coordtest.Fake)
		apart time.Duration
	}
	each(t, map[string]failure{
		"timed out": {
			func(f *coordtest.Fake) { f.LoseRequests(coordtest.Acquire, 200) },
			2 * time.Second,
		},
		"refused": {
			func(f *coordtest.Fake) { f.Fail(coordtest.Acquire, coordtest.ErrUnreachable, 200) },
			400 * time.Millisecond,
		},
	}, func(t *testing.T, c failure) {
		f := coordtest.NewFake(coordtest.FakeConfig{Workers: 200})
		c.fault(f)
		led := newLedger(t, f)
		wide := func(c *keeper.Config) { c.Request.Workers.Count, c.Request.Capacity = 200, 200 }
		var all sync.WaitGroup
		for range 200 {
			r := join(t, f, led, wide)
			all.Go(r.start)
		}
		all.Wait()
		again := f.CallsOf(coordtest.Acquire)[200:]
		if spread := again[len(again)-1].At.Sub(again[0].At); len(again) != 200 || spread < c.apart {
			t.Errorf("%d second attempts came within %v, want at least %v", len(again), spread, c.apart)
		}
	})
}

func TestSilenceIsExplained(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := quiet(t, 1)
		r.fake.Outage(true)
		within(t, every+2*time.Second, "the silence is explained",
			func() bool { return r.gate.reason() != nil })
		why := r.gate.reason()
		if !strings.HasPrefix(why.Error(), "renewal failed: no reply from the coordinator after 1.") {
			t.Errorf("the reason is %q", why)
		}
		pass(every)
		r.because(context.DeadlineExceeded)
		if why := r.gate.reason(); !strings.Contains(why.Error(),
			"coordtest: no reply to Renew of the fake") {
			t.Errorf("later the reason is %q", why)
		}
		r.logged("going on inside the window, no reply from the coordinator after")
	})
}
