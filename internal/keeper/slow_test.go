package keeper_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/keeper"
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
	for _, tt := range []struct{ ttl, horizon, latency time.Duration }{
		{ttl, horizon, 800 * time.Millisecond},
		{ttl, horizon, 1600 * time.Millisecond},
		{ttl, horizon, 3 * time.Second},
		{ttl, horizon, 10 * time.Second},
		{2 * time.Second, horizon, 500 * time.Millisecond},
		{2 * time.Second, 4 * time.Second, 500 * time.Millisecond},
		{ttl, 3 * time.Second, 1100 * time.Millisecond}, // a slow disk, static
	} {
		t.Run(fmt.Sprintf("TTL %v, horizon %v, latency %v", tt.ttl, tt.horizon, tt.latency), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, 1, lease(tt.ttl, tt.horizon))
				r.slowly(tt.latency)
				r.start()
				r.stampFor(tt.horizon)
				began, before := time.Now(), r.fake.Count(coordtest.Renew)
				if _, not := r.stampFor(5 * time.Minute); not != 0 {
					t.Errorf("%d IDs were refused before the hiccup", not)
				}
				if 3*tt.latency < tt.horizon/2 {
					r.slowly(3 * tt.latency)
					pass(min(tt.ttl, tt.horizon) / 3)
					r.slowly(tt.latency)
				}
				if _, not := r.stampFor(5 * time.Minute); not != 0 {
					t.Errorf("%d IDs were refused after a hiccup", not)
				}
				interval := max(min(tt.ttl, tt.horizon)/3*8/10, tt.latency)
				if n, most := r.fake.Count(coordtest.Renew)-before, int(time.Since(began)/interval)+4; n > most {
					t.Errorf("%d calls, want about one for each renewal: at most %d", n, most)
				}
				r.led.checkAll()
			})
		})
	}
}

func TestAtMostTwoRenewalsAreUnderWay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		r.slowly(16 * time.Second) // longer than any call may take
		within(t, 2*every, "two renewals are under way", func() (two bool) {
			r.line.set(func(l *line) { two = len(l.underWay()) == 2 })
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
		within(t, every, "a renewal is under way", func() bool { return r.fake.Count(coordtest.Renew) == 1 })
		end := r.gate.at().notAfter
		pass(1900 * time.Millisecond)
		if n := r.fake.Count(coordtest.Renew); n != 2 || r.gate.at().notAfter != end {
			t.Fatalf("%d renewals before the first reply, the window ends at %d, before at %d", n, r.gate.at().notAfter, end)
		}
		pass(100 * time.Millisecond)
		if c := r.fake.CallsOf(coordtest.Renew); r.gate.at().notAfter < c[0].Until {
			t.Errorf("the window ends at %d after the first reply, asked for was %d", r.gate.at().notAfter, c[0].Until)
		}
		r.line.set(func(l *line) {
			if l.renewing = l.underWay(); len(l.renewing) != 0 {
				t.Errorf("%d renewals are under way after the first reply, want none", len(l.renewing))
			}
		})
		pass(2500 * time.Millisecond) // the second reply, if anybody waited for it
		if n := r.fake.Count(coordtest.Renew); n > 3 || r.gate.reason() != nil {
			t.Errorf("%d renewals, the reason is %v", n, r.gate.reason())
		}
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
		calls := r.fake.CallsOf(coordtest.Renew)
		if len(calls) < 10 || calls[1].Until != calls[0].Until {
			t.Errorf("%d calls, and the second one asked for %d, the first for %d", len(calls), calls[1].Until, calls[0].Until)
		}
		for i, c := range calls {
			if left := time.Duration(c.Until-scale.Tick(c.At.UnixMicro())) * time.Millisecond; left < short/2 || left > short {
				t.Errorf("call %d asked for a window of %v", i, left)
			}
		}
	})
}

// While a renewal is under way, the loop goes on: a piece that is due is not held up.
func TestPieceIsUsedWhileARenewalIsUnderWay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		end := r.gate.at().notAfter
		floor := end + 1
		r.led.raiseFloor(floor, 4)
		pass(2 * every)
		r.fake.Outage(true)
		for r.now() < floor+100 {
			pass(50 * time.Millisecond)
		}
		if !r.gate.stamp() || r.gate.published() != 2 {
			t.Errorf("100 ms above the floor: %+v after %d terms", r.gate.at(), r.gate.published())
		}
		r.led.checkAll()
	})
}

func TestSlowReleaseSucceeds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 1)
		r.slowly(6 * time.Second)
		r.start()
		pass(time.Minute)
		began := time.Now()
		if err := r.close(t.Context()); err != nil {
			t.Errorf("Stop: %v", err)
		}
		if took, n := time.Since(began), r.fake.Count(coordtest.Release); took > ttl || n != 1 {
			t.Errorf("Stop took %v and %d releases", took, n)
		}
	})
}

// Whoever was started together with a thousand others, and timed out together with
// them, does not come back together with them.
func TestAcquisitionsThatTimedOutTogetherComeBackApart(t *testing.T) {
	for name, fault := range map[string]func(*coordtest.Fake){
		"timed out": func(f *coordtest.Fake) { f.LoseRequests(coordtest.Acquire, 200) },
		"refused":   func(f *coordtest.Fake) { f.Fail(coordtest.Acquire, coordtest.ErrUnreachable, 200) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := coordtest.NewFake(coordtest.FakeConfig{Workers: 200})
				fault(f)
				led := newLedger(t, f)
				wide := func(c *keeper.Config) { c.Request.Workers.Count, c.Request.Capacity = 200, 200 }
				var all sync.WaitGroup
				for range 200 {
					r := join(t, f, led, wide)
					all.Go(r.start)
				}
				all.Wait()
				again := f.CallsOf(coordtest.Acquire)[200:]
				spread := again[len(again)-1].At.Sub(again[0].At)
				if want := 400 * time.Millisecond; len(again) != 200 || spread < want {
					t.Errorf("%d second attempts came within %v, want at least %v", len(again), spread, want)
				}
				if want := 2 * time.Second; name == "timed out" && spread < want {
					t.Errorf("after a time-out of %v the second attempts came within %v, want at least %v", ttl/3, spread, want)
				}
			})
		})
	}
}

func TestSilenceIsExplained(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var log journal
		r := start(t, 1, log.keep)
		log.news()
		r.fake.Outage(true)
		within(t, every+2*time.Second, "the silence is explained", func() bool { return r.gate.reason() != nil })
		if why := r.gate.reason(); !strings.HasPrefix(why.Error(), "renewal failed: no reply from the coordinator after 1.") {
			t.Errorf("the reason is %q", why)
		}
		pass(every)
		if why := r.gate.reason(); !errors.Is(why, context.DeadlineExceeded) || !strings.Contains(why.Error(), "coordtest: no reply to Renew of the fake") {
			t.Errorf("later the reason is %q", why)
		}
		log.wants(t, "going on inside the window, no reply from the coordinator after")
	})
}
