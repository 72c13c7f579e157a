package keeper_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/remainder"
	"github.com/unalike-id/unalike/internal/safetytest"
)

func TestLostLeaseShutsTheGateBeforeTheNextAcquisition(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 2)
		first := r.gate.at()
		asked := false
		r.line.set(func(l *line) {
			l.onAcquire = func(req coord.Request) {
				asked = true
				if !r.gate.at().shut {
					safetytest.Of(t).Error("a worker ID is acquired while the gate of the lost one is open")
				}
				if req.Token == first.Grant.Token {
					safetytest.Of(t).Error("the token of the lost grant is used again")
				}
			}
		})
		r.fake.Steal(0)
		r.stamps(time.Second)
		r.because(nil)
		if !asked || r.gate.at().Grant.WorkerID != 1 {
			t.Errorf("the term after the lost one is %+v", r.gate.at())
		}
		if all := r.gate.shuts; len(all) == 0 || !errors.Is(all[0].reason, coord.ErrLeaseLost) {
			t.Errorf("the gate was shut: %+v", all)
		}
	})
}

// While every worker ID is held, a keeper asks less and less often, with one token, and at once
// when it hears that one was released.
func TestHeldWorkerIDsAreAskedForLessAndLess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		thief := r.fake.Steal(0)
		pass(time.Minute)
		calls := r.calls(coordtest.Acquire, 1)
		if n := len(calls); n < 6 || n > 12 || calls[0].Request.Token != calls[n-1].Request.Token {
			t.Errorf("%d attempts in a minute, want 6 to 12 with one token", n)
		}
		if gaps := gapsOf(calls); gaps[0] > 2*time.Second || slices.Max(gaps) > 15*time.Second {
			t.Errorf("the pauses were %v", gaps)
		}
		const want = `no worker ID: coord: no free worker ID in namespace "fake": 1 of 1 are held`
		if why := r.gate.reason(); why == nil || !strings.HasPrefix(why.Error(), want) {
			t.Errorf("the reason is %q, want %q and more", why, want)
		}
		if err := r.fake.Client().Release(t.Context(), thief, r.now()); err != nil {
			t.Fatal(err)
		}
		r.stamps(time.Second)
	})
}

// Where nothing reports that a worker ID was released, one pause passes at most, and where the end
// of a lease is known, nobody waits for longer than that.
func TestHeldWorkerIDsWithoutWordOfARelease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := coordtest.NewFake(coordtest.FakeConfig{Workers: 1, Mute: true})
		led := newLedger(t, f)
		dead := join(t, f, led)
		dead.start()
		r := join(t, f, led)
		r.Begin()
		pass(time.Minute)
		_ = dead.line.Close() // and it is never heard of again
		within(t, ttl+time.Second, "the lease has ended", func() bool { return r.gate.published() == 1 })
		r.stop()
		thief := f.Steal(0)
		other := join(t, f, led)
		other.Begin()
		pass(time.Minute)
		if err := f.Client().Release(t.Context(), thief, other.now()); err != nil {
			t.Fatal(err)
		}
		other.stamps(16 * time.Second)
	})
}

func TestHintOfAnExpiredLeaseResumesItWithoutAGap(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 2)
		for range 10 {
			pass(2 * time.Second)
			before := r.fake.Count(coordtest.Renew)
			r.fake.Expire(0)
			pass(time.Millisecond)
			r.made(coordtest.Renew, before, 1, 1)
			r.holds(1, 0)
		}
		if got := r.gate.at(); got.shut || got.Grant.Generation != 1 {
			t.Errorf("the term is %+v", got)
		}
	})
}

func TestHintOfAStolenLeaseIsActedOnAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 2)
		pass(time.Second)
		r.fake.Steal(0)
		pass(time.Millisecond)
		r.stamps(0)
		r.fake.Expire(1) // the hint works for the new grant too
		pass(time.Second)
		r.holds(2, 0, 1)
	})
}

func TestHintsWithoutEndDoNotMakeTheKeeperBusy(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gone := make(chan struct{})
		close(gone)
		r := newRig(t, 1)
		r.line.lost = func(coord.Grant) <-chan struct{} { return gone }
		r.start()
		pass(time.Minute)
		r.made(coordtest.Renew, 0, 0, 140)
	})
}

// forget has the back end lose worker ID 0 and raise the floor to a tick. The next renewal returns
// an error that allows windows between after and until.
func (r *rig) forget(floor, after, until int64) {
	r.led.raiseFloor(floor, 1)
	r.fake.Steal(0)
	r.line.set(func(l *line) {
		l.renewed = func(_, g coord.Grant, err error) (coord.Grant, error) {
			if errors.Is(err, coord.ErrLeaseLost) {
				l.set(func(l *line) { l.renewed = nil })
				err = &remainder.Error{After: after, Until: until, Lost: err}
			}
			return g, err
		}
	})
}

// The window in use is used to its end, and another worker ID serves as soon as its window opens.
func TestRestOfALostGrantIsUsedWhileAnotherIsAcquired(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 2)
		r.stampFor(12 * time.Second)
		old := r.gate.at()
		floor := r.now() + horizon.Milliseconds() + 1000
		r.forget(floor, old.from, floor)
		left := time.Duration(old.notAfter-r.now()-100) * time.Millisecond
		if _, not := r.stampFor(left); not != 0 {
			t.Errorf("%d IDs were refused before the window's end", not)
		}
		r.made(coordtest.Acquire, 1, 1, 1)
		r.made(coordtest.Release, 0, 0, 0)
		pass(time.Duration(old.notAfter+1-r.now()) * time.Millisecond)
		gap := time.Duration(floor+1-r.now()) * time.Millisecond
		if took := r.stamps(2 * gap); took != gap {
			t.Errorf("the gap was %v, want %v", took, gap)
		}
		r.because(nil)
		if now := r.gate.at().Grant; now.WorkerID != 1 || r.gate.at().SteppedBack {
			t.Errorf("the term after the lost one is %v", now)
		}
		if len(r.gate.shuts) != 0 {
			t.Errorf("the gate was shut: %+v", r.gate.shuts)
		}
		r.serves(time.Minute)
	})
}

// The gate shuts immediately if the error does not cover the window in use.
func TestRestOfALostGrantThatMayBeAnothersIsNotUsed(t *testing.T) {
	each(t, map[string]func(from, end int64) (after, until int64){
		"the floor is below the end of the window": func(from, end int64) (int64, int64) {
			return from, end - 1
		},
		"the slot ends inside the window": func(from, end int64) (int64, int64) {
			return from + 1, end
		},
	}, func(t *testing.T, allowed func(from, end int64) (after, until int64)) {
		r := start(t, 1)
		pass(4 * every)
		old := r.gate.at()
		after, until := allowed(old.Grant.NotBefore, old.notAfter)
		r.forget(old.notAfter+1000, after, until)
		within(t, every, "the gate is shut", func() bool { return r.gate.at().shut })
	})
}

// A piece above an earlier floor is used only if it ends below the floor of the loss.
func TestLaterPieceOfALostGrantIsDropped(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 2)
		r.stampFor(12 * time.Second)
		old := r.gate.at()
		floor := old.notAfter + 1000
		r.led.raiseFloor(floor, 2)
		pass(2 * every) // a renewal has returned a piece above the floor
		r.forget(floor, old.Grant.NotBefore, floor)
		r.stampFor(time.Minute)
		r.holds(2, 0, 1) // the thief holds worker ID 0
		r.serves(time.Minute)
	})
}

// The answer to a renewal that was sent before the loss does not extend what was lost.
func TestLateRenewalDoesNotExtendALostGrant(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 2)
		r.stampFor(11 * time.Second)
		r.fake.Fail(coordtest.Acquire, coordtest.ErrUnreachable, coordtest.Forever)
		r.fake.DelayReplies(coordtest.Renew, 4*time.Second, 1)
		before := r.fake.Count(coordtest.Renew)
		within(t, every, "a renewal is sent", func() bool {
			return r.fake.Count(coordtest.Renew) > before
		})
		old := r.gate.at()
		floor := r.now() + horizon.Milliseconds() + 1000
		r.forget(floor, old.from, floor)
		pass(every)
		if now := r.gate.at(); now.notAfter != old.notAfter {
			safetytest.Of(t).Errorf("the window of the lost grant ended at %d and ends at %d", old.notAfter,
				now.notAfter)
		}
	})
}

// A generator that is closed meanwhile gives back the new worker ID, and nothing of the lost one.
func TestStopWhileTheRestOfALostGrantIsUsed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, acquires := range []bool{true, false} {
			r := start(t, 2)
			r.stampFor(12 * time.Second)
			old := r.gate.at()
			floor := r.now() + horizon.Milliseconds() + 1000
			if !acquires {
				r.fake.Fail(coordtest.Acquire, coordtest.ErrUnreachable, coordtest.Forever)
			}
			r.forget(floor, old.from, floor)
			r.stampFor(every)
			r.stop()
			for _, c := range r.fake.CallsOf(coordtest.Release) {
				if c.Grant.WorkerID == 0 {
					safetytest.Of(t).Errorf("the lost grant was released: %+v", c)
				}
			}
			r.made(coordtest.Release, 0, map[bool]int{true: 1}[acquires], 1)
		}
	})
}
