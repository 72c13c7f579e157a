package keeper_test

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
)

// used makes the stored window of a worker ID end some time from now, and leaves the
// worker ID held by the thief who is returned.
func (r *rig) used(id int, d time.Duration) coord.Grant {
	r.t.Helper()
	g, err := r.fake.Client().Renew(r.t.Context(), r.fake.Steal(id), r.now()+d.Milliseconds())
	if err != nil {
		r.t.Fatal(err)
	}
	return g
}

// A worker ID that was released a moment before the clock stepped back is as far ahead
// as the one that is held. To take it would end the search for a better one.
func TestWindowThatOpensLaterIsNotTakenForHealing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 3)
		r.used(1, time.Minute)
		r.start()
		better := join(t, r.fake, r.led)
		better.clock.Step(-2 * time.Hour)
		better.start()
		r.fake.Expire(1)
		r.stampFor(2 * time.Minute)
		r.clock.Step(-time.Hour)
		r.stampFor(20 * time.Second)
		if got := r.gate.at(); got.Grant.WorkerID != 0 || r.gate.published() != 1 {
			t.Fatalf("after the step: %+v", got)
		}
		if err := better.close(t.Context()); err != nil {
			t.Fatal(err)
		}
		within(t, ttl+time.Second, "an ID is stamped", r.gate.stamp)
		if got := r.gate.at().Grant; got.WorkerID != 2 {
			t.Errorf("healed by %v", got)
		}
		pass(every)
		r.led.checkAll()
	})
}

// Whoever has nothing better to give gives the same again and again.
func TestWorkerIDThatDoesNotHealIsAskedForLessAndLess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var log journal
		r := newRig(t, 2, log.keep)
		r.used(1, 50*time.Minute)
		r.start()
		r.fake.Expire(1)
		r.stampFor(time.Second)
		log.news()
		r.clock.Step(-10 * time.Minute)
		pass(9 * time.Minute)
		if n := len(r.calls(coordtest.Acquire, 1)); n < 30 || n > 100 {
			t.Errorf("%d acquisitions in 9 minutes", n)
		}
		log.wants(t, `level=WARN, msg="the clock stepped back and the window of the other worker ID that is to be had opens later, worker_id=0, other_worker_id=1`, "worker ID released")
		if h := r.fake.Holders(); len(h) != 1 || h[0] != 0 {
			t.Errorf("held are %v", h)
		}
		pass(2 * time.Minute) // the clock has caught up
		if !r.gate.stamp() || r.gate.published() != 1 {
			t.Errorf("after the clock has caught up: %+v", r.gate.at())
		}
	})
}

func TestWorkerIDThatOpensSoonHealsWhenItOpens(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 2)
		r.used(1, time.Minute)
		r.start()
		r.fake.Expire(1)
		r.stampFor(10 * time.Minute)
		r.clock.Step(-10*time.Minute + 40*time.Second)
		opens := time.Duration(r.fake.Slot(1).NotAfter-r.now()) * time.Millisecond
		if took := within(t, opens+10*time.Millisecond, "an ID is stamped", r.gate.stamp); took < opens {
			t.Errorf("the window opened after %v, and an ID was stamped after %v", opens, took)
		}
		r.led.checkAll()
	})
}

// An ID that is stamped at the last moment must lie in what the old worker ID keeps.
func TestHealingTrimsToWhatTheClosedTermStamped(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 3)
		r.stampFor(3 * time.Second)
		old := r.gate.at()
		r.led.mu.Lock()
		r.gate.onSwap = func() { r.gate.stampUpTo(old.last + 50) }
		r.led.mu.Unlock()
		r.clock.Step(-time.Hour)
		pass(100 * time.Millisecond)
		if s := r.fake.Slot(old.Grant.WorkerID); s.Token != "" || s.NotAfter != old.last+50 {
			t.Errorf("stored for the old worker ID is %+v, the last tick stamped was %d", s, old.last+50)
		}
		r.led.checkAll()
	})
}

func TestHintsOfTheNewWorkerIDAreHeardAfterHealing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 3)
		r.stampFor(3 * time.Second)
		r.clock.Step(-time.Hour)
		within(t, 10*time.Millisecond, "an ID is stamped", r.gate.stamp)
		pass(2 * time.Second)
		before := r.fake.Count(coordtest.Renew)
		r.fake.Expire(r.gate.at().Grant.WorkerID)
		pass(time.Millisecond)
		if n := r.fake.Count(coordtest.Renew) - before; n != 1 {
			t.Errorf("%d renewals a moment after the lease of the new worker ID ended, want 1", n)
		}
	})
}

// The generator has to be told when it can serve again, not some time later.
func TestKeeperLooksWhenTheClockHasCaughtUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		for range 20 {
			r.stampFor(time.Second)
			r.clock.Step(-7 * time.Second)
			pass(time.Duration(r.gate.at().last-limit-1-r.now()) * time.Millisecond)
			before := r.gate.looks()
			pass(2 * time.Millisecond)
			if r.gate.looks() == before {
				t.Fatalf("tick %d, the last one stamped is %d: nobody has looked", r.now(), r.gate.at().last)
			}
			pass(5 * time.Second)
		}
	})
}

// An acquisition that is not answered does not hold up the loop.
func TestLoopGoesOnWhileItHeals(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 2)
		r.stampFor(time.Second)
		r.fake.LoseRequests(coordtest.Acquire, coordtest.Forever)
		r.clock.Step(-9 * time.Second)
		pass(time.Duration(r.gate.at().last-limit-1-r.now()) * time.Millisecond)
		if n := r.fake.Count(coordtest.Acquire); n < 3 {
			t.Fatalf("%d acquisitions, want one under way, and another beside it", n)
		}
		before := r.gate.looks()
		pass(2 * time.Millisecond)
		if r.gate.looks() == before {
			t.Error("nobody has looked when the clock had caught up")
		}
		pass(limit * time.Millisecond)
		if !r.gate.stamp() {
			t.Errorf("the clock has caught up, and nothing is stamped: %+v", r.gate.at())
		}
		r.fake.Heal()
		pass(time.Minute)
		if h := r.fake.Holders(); len(h) != 1 || h[0] != 0 || r.gate.published() != 1 {
			t.Errorf("held are %v after %d terms", h, r.gate.published())
		}
	})
}

func TestLossWhileHealingLeaksNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 4)
		r.stampFor(time.Second)
		r.fake.DelayReplies(coordtest.Acquire, 4*time.Second, 1)
		r.clock.Step(-time.Hour)
		pass(time.Second)
		r.fake.Steal(0)
		within(t, 100*time.Millisecond, "an ID is stamped", r.gate.stamp)
		pass(2 * every)
		if h := r.fake.Holders(); len(h) != 2 || r.gate.published() != 2 {
			t.Errorf("held are %v after %d terms, want the thief's 0 and another one", h, r.gate.published())
		}
		if c := r.fake.CallsOf(coordtest.Acquire); len(c) != 3 || c[1].Request.Token != c[2].Request.Token {
			t.Errorf("%d acquisitions, want the second one's token again in the third", len(c))
		}
		r.led.checkAll()
	})
}
