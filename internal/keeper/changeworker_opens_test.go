package keeper_test

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/keeper"
	"github.com/unalike-id/unalike/internal/safetytest"
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
		r.line.unaware = true
		r.used(1, time.Minute)
		r.start()
		better := join(t, r.fake, r.led)
		better.clock.Step(-2 * time.Hour)
		better.start()
		r.fake.Expire(1)
		r.stampFor(2 * time.Minute)
		r.clock.Step(-time.Hour)
		r.stampFor(20 * time.Second)
		r.holds(1, 0, 2)
		better.stop()
		r.stamps(ttl + time.Second)
		if got := r.gate.at().Grant; got.WorkerID != 2 {
			t.Errorf("healed by %v", got)
		}
	})
}

// Whoever has nothing better to give gives the same again and again.
func TestWorkerIDThatDoesNotHealIsAskedForLessAndLess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 2)
		r.used(1, 50*time.Minute)
		r.start()
		r.fake.Expire(1)
		r.stampFor(time.Second)
		r.log.news()
		r.clock.Step(-10 * time.Minute)
		pass(9 * time.Minute)
		r.made(coordtest.Acquire, 1, 30, 100)
		r.made(coordtest.Release, 0, 0, 0)
		r.logged(`level=WARN, msg="the clock stepped back and no other worker ID is usable, ` +
			`waiting for the clock", worker_id=0`)
		pass(2 * time.Minute) // the clock has caught up
		r.holds(1, 0)
		r.stamps(0)
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
		if took := r.stamps(opens + time.Second); took < opens {
			safetytest.Of(t).Errorf("the window opened after %v, and an ID was stamped after %v", opens,
				took)
		}
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
			safetytest.Of(t).Errorf("stored for the old worker ID is %+v, the last tick stamped was %d", s,
				old.last+50)
		}
	})
}

func TestHintsOfTheNewWorkerIDAreHeardAfterHealing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 3)
		r.stampFor(3 * time.Second)
		r.clock.Step(-time.Hour)
		r.stamps(10 * time.Millisecond)
		pass(2 * time.Second)
		before := r.fake.Count(coordtest.Renew)
		r.fake.Expire(r.gate.at().Grant.WorkerID)
		pass(time.Millisecond)
		r.made(coordtest.Renew, before, 1, 1)
	})
}

// looksAtCatchUp waits until the clock has caught up with the last tick stamped, and demands
// that the keeper looks then: the generator has to be told when it can serve again.
func (r *rig) looksAtCatchUp() {
	r.t.Helper()
	pass(time.Duration(r.gate.at().last-limit-1-r.now()) * time.Millisecond)
	before := r.gate.looks()
	pass(2 * time.Millisecond)
	if r.gate.looks() == before {
		r.t.Fatalf("tick %d, the last one stamped is %d: nobody has looked", r.now(), r.gate.at().last)
	}
}

// An acquisition that is not answered does not hold up the loop.
func TestLoopGoesOnWhileItHeals(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 2)
		r.stampFor(time.Second)
		r.fake.LoseRequests(coordtest.Acquire, coordtest.Forever)
		r.clock.Step(-9 * time.Second)
		r.looksAtCatchUp()
		r.made(coordtest.Acquire, 1, 2, 100) // one under way, and another beside it
		pass(limit * time.Millisecond)
		r.stamps(0)
		r.fake.Recover()
		pass(time.Minute)
		r.holds(1, 0)
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
		r.stamps(100 * time.Millisecond)
		pass(2 * every)
		r.holds(2, 0, r.gate.at().Grant.WorkerID)
		if c := r.fake.CallsOf(coordtest.Acquire); len(c) != 3 ||
			c[1].Request.Token != c[2].Request.Token {
			safetytest.Of(t).Errorf("%d acquisitions, want the second one's token again in the third",
				len(c))
		}
	})
}

// A keeper that got a worker ID whose window opens much later takes a better one as soon as it is
// free, and keeps its identity.
func TestWorkerIDThatOpensMuchLaterIsLeftForABetterOne(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 2, func(c *keeper.Config) { c.Request.Identity = "host-1" })
		r.used(0, 95*time.Second)
		r.fake.Expire(0)
		better := r.fake.Steal(1)
		r.start()
		r.holds(1, 0, 1)
		pass(40 * time.Second)
		r.made(coordtest.Acquire, 1, 3, 10)
		r.made(coordtest.Release, 0, 0, 0)
		if err := r.fake.Client().Release(t.Context(), better, r.now()); err != nil {
			t.Fatal(err)
		}
		r.stamps(2 * time.Second)
		r.holds(2, 1)
		got := r.gate.at()
		last := r.fake.CallsOf(coordtest.Acquire)
		if got.SteppedBack || last[len(last)-1].Request.Identity != "host-1" {
			t.Errorf("the term is %+v, of request %+v", got, last[len(last)-1].Request)
		}
		r.serves(time.Minute)
	})
}

// Where a floor keeps every window shut, no other worker ID is looked for more often than while all
// are held, and none is leased beside the first.
func TestFloorIsNoReasonToChangeTheWorkerID(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 4)
		r.fake.RaiseFloor(r.now() + time.Minute.Milliseconds())
		r.start()
		pass(59 * time.Second)
		r.made(coordtest.Acquire, 1, 0, 10)
		r.stamps(2 * time.Second)
		r.holds(1, r.gate.at().Grant.WorkerID)
	})
}
