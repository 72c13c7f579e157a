package keeper_test

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/keeper"
	"github.com/unalike-id/unalike/internal/safetytest"
)

func TestLargeStepBackIsHealedByAnotherWorkerID(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 3)
		r.stampFor(20 * time.Second)
		old := r.gate.at()
		r.clock.Step(-time.Hour)
		r.stamps(10 * time.Millisecond)
		got := r.gate.at()
		if got.Grant.WorkerID == old.Grant.WorkerID || got.Grant.NotBefore >= r.now() ||
			!got.SteppedBack {
			t.Errorf("after the step: %+v at tick %d", got, r.now())
		}
		if s := r.fake.Slot(old.Grant.WorkerID); s.Token != "" || s.NotAfter != old.last {
			safetytest.Of(t).Errorf("stored for the old worker ID is %+v, the last tick stamped was %d", s,
				old.last)
		}
		r.serves(time.Minute)
		r.holds(2, got.Grant.WorkerID)
	})
}

func TestStepBackWithinTheLimitIsNotHealed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 3)
		for range 20 {
			r.stampFor(time.Second)
			r.clock.Step(-limit * time.Millisecond)
			pass(time.Millisecond)
		}
		r.made(coordtest.Acquire, 0, 1, 1)
	})
}

// A step back that the clock makes up for within a second does not change the worker ID: the IDs
// of another one would be smaller.
func TestStepBackOfUpToASecondKeepsTheWorkerID(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 3)
		for step := limit + 1; step <= limit+1000; step += 111 {
			r.stampFor(time.Second)
			r.clock.Step(time.Duration(-step) * time.Millisecond)
			r.Poke()
			if took, most := r.stamps(2*time.Second), time.Duration(step)*time.Millisecond; took > most {
				t.Errorf("%v after a step back by %v an ID was stamped", took, most)
			}
		}
		r.made(coordtest.Acquire, 0, 1, 1)
		r.holds(1, 0)
	})
}

// When another worker ID arrives, the clock has nearly caught up.
func TestStepBackThatIsMadeUpForMeanwhileKeepsTheWorkerID(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 3)
		r.stampFor(3 * time.Second)
		r.fake.DelayReplies(coordtest.Acquire, 1500*time.Millisecond, 1)
		r.clock.Step(-2 * time.Second)
		r.stamps(3 * time.Second)
		r.made(coordtest.Acquire, 0, 2, 2)
		r.holds(1, 0)
	})
}

func TestOwnIdentityIsNotAskedForWhenHealing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 3, func(c *keeper.Config) { c.Request.Identity = "host-1" })
		r.stampFor(time.Second)
		r.clock.Step(-time.Hour)
		pass(time.Second)
		c := r.fake.CallsOf(coordtest.Acquire)
		if len(c) != 2 || c[0].Request.Identity != "host-1" || c[1].Request.Identity != "" {
			t.Errorf("acquired was as %+v", c)
		}
	})
}

func TestStepBackWithoutAFreeWorkerIDWaitsForTheClock(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		r.stampFor(3 * time.Second)
		const step = 40 * time.Second
		r.clock.Step(-step)
		if got, _ := r.stampFor(step - time.Second); got != 0 {
			safetytest.Of(t).Errorf("%d IDs were stamped while the clock was behind", got)
		}
		pass(1200 * time.Millisecond)
		r.made(coordtest.Acquire, 1, 5, 12) // less and less often
		before := r.fake.Count(coordtest.Acquire)
		r.serves(time.Minute)
		r.made(coordtest.Acquire, before, 0, 0) // the clock has caught up
		r.holds(1, 0)
	})
}

func TestStepForwardAgainMeanwhileLeavesTheWorkerIDAsItIs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 3)
		r.stampFor(3 * time.Second)
		r.fake.DelayReplies(coordtest.Acquire, 500*time.Millisecond, 1)
		r.clock.Step(-time.Hour)
		pass(200 * time.Millisecond)
		r.clock.Step(time.Hour)
		pass(time.Second)
		r.made(coordtest.Acquire, 0, 2, 2)
		r.holds(1, 0)
		r.stamps(0)
	})
}

func TestStepBackWhileNothingIsHeld(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 3)
		r.stampFor(3 * time.Second)
		r.fake.Fail(coordtest.Acquire, coordtest.ErrUnreachable, coordtest.Forever)
		r.fake.Steal(0)
		pass(time.Second)
		r.clock.Step(-time.Hour)
		pass(time.Second)
		r.fake.Recover()
		r.stamps(1100 * time.Millisecond)
	})
}

// A new term that starts in the future, seen from a clock that stepped back while it
// was under way, is left for another one.
func TestStepBackBeforeTheFirstIDOfATermIsHealed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 3)
		r.used(0, 0)
		r.fake.Expire(0)
		r.line.acquired = func(g coord.Grant, err error) (coord.Grant, error) {
			r.line.set(func(l *line) { l.acquired = nil })
			g.NotBefore = r.now() - 100 // a window that was open when it was asked for
			r.clock.Step(-time.Hour)
			return g, err
		}
		r.start()
		r.stamps(100 * time.Millisecond)
		if n := r.gate.published(); n != 2 {
			t.Errorf("%d terms were published, want 2", n)
		}
	})
}

func TestWindowInTheFutureFromTheStartIsNoRollback(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 1)
		r.used(0, 20*time.Second)
		r.fake.Expire(0)
		r.start()
		if got, _ := r.stampFor(19 * time.Second); got != 0 {
			safetytest.Of(t).Errorf("%d IDs were stamped before the window", got)
		}
		r.holds(1, 0)
		r.stamps(2 * time.Second)
	})
}

// A keeper that is preempted between loading the last tick and reading the clock,
// for longer than the tolerance, while IDs are stamped.
func TestPreemptedKeeperSeesNoRollback(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 3)
		r.led.mu.Lock()
		r.gate.onLast = func() {
			time.Sleep(4 * limit * time.Millisecond)
			r.gate.stamp()
		}
		r.led.mu.Unlock()
		pass(2 * time.Minute)
		r.made(coordtest.Acquire, 0, 1, 1)
	})
}

func TestStepForwardPastTheWindowIsRenewedAtOnceAfterAPoke(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 3)
		for range 5 {
			r.stampFor(2 * time.Second)
			r.clock.Step(time.Hour)
			if r.gate.stamp() {
				safetytest.Of(t).Fatal("an ID was stamped an hour after the window's end")
			}
			r.Poke()
			r.stamps(20 * time.Millisecond)
		}
		r.holds(1, 0)
	})
}
