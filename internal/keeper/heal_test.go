package keeper_test

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/keeper"
)

func TestLargeStepBackIsHealedByAnotherWorkerID(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 3)
		r.stampFor(20 * time.Second)
		old := r.gate.at()
		r.clock.Step(-time.Hour)
		within(t, 10*time.Millisecond, "an ID is stamped", r.gate.stamp)
		got := r.gate.at()
		if got.Grant.WorkerID == old.Grant.WorkerID || got.Grant.NotBefore >= r.now() || !got.Heal {
			t.Errorf("after the step: %+v at tick %d", got, r.now())
		}
		if s := r.fake.Slot(old.Grant.WorkerID); s.Token != "" || s.NotAfter != old.last {
			t.Errorf("stored for the old worker ID is %+v, the last tick stamped was %d", s, old.last)
		}
		if h := r.fake.Holders(); len(h) != 1 || h[0] != got.Grant.WorkerID {
			t.Errorf("held are %v", h)
		}
		if _, not := r.stampFor(time.Minute); not != 0 {
			t.Errorf("%d IDs were refused after the change", not)
		}
		if n := r.gate.published(); n != 2 {
			t.Errorf("%d terms were published, want 2", n)
		}
		r.led.checkAll()
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
		if n := r.fake.Count(coordtest.Acquire); n != 1 {
			t.Errorf("%d worker IDs were acquired", n)
		}
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
		got, _ := r.stampFor(step - time.Second)
		if got != 0 {
			t.Errorf("%d IDs were stamped while the clock was behind", got)
		}
		pass(1200 * time.Millisecond)
		attempts := r.calls(coordtest.Acquire, 1)
		for i, g := range gapsOf(attempts) {
			if g > time.Second || i > 10 && g < time.Second/2 {
				t.Errorf("attempt %d to get another worker ID came after %v", i, g)
			}
		}
		if len(attempts) < 30 {
			t.Errorf("%d attempts in %v", len(attempts), step)
		}
		if _, not := r.stampFor(time.Minute); not != 0 || r.gate.published() != 1 {
			t.Errorf("after the clock has caught up %d IDs were refused, and %d terms were published", not, r.gate.published())
		}
		if n := r.fake.Count(coordtest.Acquire); n != 1+len(attempts) {
			t.Errorf("%d more attempts after the clock has caught up", n-1-len(attempts))
		}
	})
}

func TestWorkerIDWhoseWindowLiesAheadIsGivenBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 2)
		ahead := r.fake.Steal(1)
		for range 3 { // stored for worker ID 1 is now far ahead
			ahead, _ = r.fake.Client().Renew(t.Context(), ahead, r.now()+time.Hour.Milliseconds())
		}
		r.stampFor(3 * time.Second)
		r.fake.Expire(1)
		r.clock.Step(-time.Minute)
		pass(5 * time.Second)
		if got := r.gate.at(); got.shut || got.Grant.WorkerID != 0 || r.gate.published() != 1 {
			t.Errorf("after the step: %+v", got)
		}
		if h := r.fake.Holders(); len(h) != 1 || h[0] != 0 {
			t.Errorf("held are %v, want 0 alone", h)
		}
		if s := r.fake.Slot(1); s.NotAfter != ahead.NotAfter {
			t.Errorf("stored for worker ID 1 is tick %d, it was %d", s.NotAfter, ahead.NotAfter)
		}
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
		if n := r.fake.Count(coordtest.Acquire); n != 2 {
			t.Errorf("%d worker IDs were asked for, want 2", n)
		}
		if h := r.fake.Holders(); r.gate.published() != 1 || len(h) != 1 || h[0] != 0 || !r.gate.stamp() {
			t.Errorf("after %d terms held are %v and the term is %+v", r.gate.published(), h, r.gate.at())
		}
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
		r.fake.Heal()
		within(t, 1100*time.Millisecond, "an ID is stamped", r.gate.stamp)
		r.led.checkAll()
	})
}

// A new term that starts in the future, seen from a clock that stepped back while it
// was under way, is left for another one.
func TestStepBackBeforeTheFirstIDOfATermIsHealed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 3)
		g := r.fake.Steal(0)
		soon := r.now() - 100
		if err := r.fake.Client().Release(t.Context(), g, g.NotBefore); err != nil {
			t.Fatal(err)
		}
		r.line.acquired = func(g coord.Grant, err error) (coord.Grant, error) {
			r.line.set(func(l *line) { l.acquired = nil })
			g.NotBefore = soon // a window that was open when it was asked for
			r.clock.Step(-time.Hour)
			return g, err
		}
		r.start()
		within(t, 100*time.Millisecond, "an ID is stamped", r.gate.stamp)
		if n := r.gate.published(); n != 2 {
			t.Errorf("%d terms were published, want 2", n)
		}
	})
}

func TestWindowInTheFutureFromTheStartIsNoRollback(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 1)
		g := r.fake.Steal(0)
		if _, err := r.fake.Client().Renew(t.Context(), g, r.now()+20_000); err != nil {
			t.Fatal(err)
		}
		r.fake.Expire(0)
		r.start()
		if _, not := r.stampFor(19 * time.Second); not != 190 {
			t.Errorf("of 190 IDs %d were refused", not)
		}
		if n := r.fake.Count(coordtest.Acquire); n != 1 {
			t.Errorf("%d worker IDs were asked for, want 1", n)
		}
		within(t, 2*time.Second, "the window opens", r.gate.stamp)
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
		if n := r.fake.Count(coordtest.Acquire); n != 1 {
			t.Errorf("%d worker IDs were acquired, and the clock never stepped back", n)
		}
	})
}

func TestStepForwardPastTheWindowIsRenewedAtOnceAfterAPoke(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 3)
		for range 5 {
			r.stampFor(2 * time.Second)
			r.clock.Step(time.Hour)
			if r.gate.stamp() {
				t.Fatal("an ID was stamped an hour after the window's end")
			}
			r.Poke()
			within(t, 20*time.Millisecond, "an ID is stamped", r.gate.stamp)
		}
		if n := r.gate.published(); n != 1 {
			t.Errorf("%d terms were published, want 1 that was extended", n)
		}
	})
}
