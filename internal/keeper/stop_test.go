package keeper_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/safetytest"
)

func TestStopTrimsToWhatTheShutGateReturned(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		r.stampFor(3 * time.Second)
		r.line.onRelease = func(_ coord.Grant, last int64) {
			if got := r.gate.at(); !got.shut || got.last != last {
				safetytest.Of(t).Errorf("released up to tick %d, and the term is %+v", last, got)
			}
		}
		r.stop()
		got := r.gate.at()
		if s := r.fake.Slot(0); s.Token != "" || s.NotAfter != got.last || got.last < r.now()-100 {
			safetytest.Of(t).Errorf("stored is %+v, the last tick stamped %d at tick %d", s, got.last,
				r.now())
		}
	})
}

// The back end trims to where the piece begins, and no further: what lies below it
// is the floor's affair.
func TestStopWithAPieceHeldBackReleasesAtTheLastTick(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		r.raise(31 * time.Second)
		r.stampFor(2 * every)
		r.stop()
		if calls, last := r.calls(coordtest.Release, 0), r.gate.at().last; len(calls) != 1 ||
			calls[0].Last != last {
			safetytest.Of(t).Errorf("released by %+v, the last tick stamped is %d", calls, last)
		}
		if s := r.fake.Slot(0); s.NotAfter != r.fake.Floor() || s.Token != "" {
			safetytest.Of(t).Errorf("stored is %+v, a piece began at %d", s, r.fake.Floor())
		}
	})
}

// Another worker ID is sought and the back end does not answer: the one that is held is given back
// all the same, soon.
func TestStopGivesUpAnAcquisitionWithoutAReply(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 2)
		r.stampFor(time.Second)
		r.fake.LoseRequests(coordtest.Acquire, 100)
		r.clock.Step(-10 * time.Minute)
		pass(time.Second)
		if err := r.lasts(0, 5*time.Second, r.close); err != nil {
			t.Errorf("Stop: %v", err)
		}
		r.holds(1)
	})
}

// The reply to an acquisition arrives after the generator was closed.
func TestStopWhileAWorkerIDIsAcquiredGivesItBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 2)
		r.fake.DelayReplies(coordtest.Acquire, 2*time.Second, 1)
		r.fake.Steal(0)
		pass(time.Second)
		r.stop()
		r.holds(1, 0) // by the thief
		if s := r.fake.Slot(1); s.Generation != 1 || s.NotAfter != 0 {
			safetytest.Of(t).Errorf("stored for worker ID 1 is %+v, and nobody ever used it", s)
		}
	})
}

func TestStopSaysIfAWorkerIDThatArrivedLateCannotBeGivenBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 2)
		r.fake.DelayReplies(coordtest.Acquire, time.Second, 1)
		r.fake.Fail(coordtest.Release, coordtest.ErrUnreachable, coordtest.Forever)
		r.fake.Steal(0)
		pass(100 * time.Millisecond)
		const want = "worker ID 1 not released, it becomes free when its lease ends: " +
			"coordtest: Release of the fake: coordtest: back end unreachable"
		if err := r.close(t.Context()); err == nil || err.Error() != want {
			t.Errorf("Stop: %v, want %s", err, want)
		}
	})
}

func TestStopDuringARenewalReleasesAfterIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		r.fake.DelayRequests(coordtest.Renew, time.Second, coordtest.Forever)
		within(t, 2*every, "a renewal is under way",
			func() bool { return r.fake.Count(coordtest.Renew) == 1 })
		if err := r.lasts(0, time.Second, r.close); err != nil {
			t.Errorf("Stop: %v", err)
		}
		r.holds(1)
	})
}

// Some clients give up a connection together with a call.
func TestStopLetsARenewalEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		ended := false
		r.slowly(time.Second)
		r.line.set(func(l *line) {
			l.renewed = func(_, g coord.Grant, err error) (coord.Grant, error) {
				ended = true
				return g, err
			}
		})
		within(t, 2*every, "a renewal is under way",
			func() bool { return r.fake.Count(coordtest.Renew) == 1 })
		r.stop()
		if !ended {
			t.Error("the renewal was cut off")
		}
	})
}

func TestStopDuringHealingReleasesBothWorkerIDs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 3)
		r.stampFor(time.Second)
		r.fake.DelayReplies(coordtest.Acquire, time.Second, 1)
		r.clock.Step(-time.Hour)
		pass(100 * time.Millisecond)
		r.holds(1, 0, 1)
		r.stop()
		r.holds(1)
	})
}

func TestReleaseWhoseReplyWasLostIsRepeated(t *testing.T) {
	each(t, map[string]func(*coordtest.Fake){
		"reply":   func(f *coordtest.Fake) { f.LoseReplies(coordtest.Release, 1) },
		"request": func(f *coordtest.Fake) { f.LoseRequests(coordtest.Release, 1) },
		"refused": func(f *coordtest.Fake) { f.Fail(coordtest.Release, coordtest.ErrUnreachable, 3) },
	}, func(t *testing.T, fault func(*coordtest.Fake)) {
		r := start(t, 1)
		fault(r.fake)
		r.stop()
		r.holds(1)
		r.made(coordtest.Release, 0, 2, 4)
	})
}

func TestStopOfALostWorkerIDIsNoError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 1)
		r.line.set(func(l *line) { l.lost = func(coord.Grant) <-chan struct{} { return nil } })
		r.start()
		r.fake.Steal(0)
		r.stop()
		r.holds(1, 0) // by the thief
	})
}

func TestStopWithTheBackEndDownReturnsWithItsContext(t *testing.T) {
	for _, limit := range []time.Duration{time.Second, time.Hour} { // or gives up by itself
		each(t, outages, func(t *testing.T, outage func(*coordtest.Fake, bool)) {
			r := start(t, 1)
			outage(r.fake, true)
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			err := r.lastsIn(ctx, min(limit, 3*time.Second), min(limit, 6*time.Second), r.close)
			want, is := "worker ID 0 not released, it becomes free when its lease ends: ", err
			if limit == time.Second { // it may have ended before the worker ID is named
				want, is = want[len("worker ID 0"):], context.DeadlineExceeded
			}
			if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, is) {
				t.Errorf("Stop: %v, want %s", err, want)
			}
		})
	}
}

// An acquisition that is not answered keeps whoever stops the keeper no longer than one call
// takes. That its answer is waited for is announced, as it may have been granted.
func TestStopCutsAnAcquisition(t *testing.T) {
	for _, after := range []time.Duration{time.Second, 16 * time.Second, time.Minute} {
		bubble(t, func(t *testing.T) {
			r := newRig(t, 1)
			r.fake.Outage(true)
			r.Begin()
			pass(after)
			r.log.news()
			if err := r.lasts(0, 5*time.Second, r.close); err != nil {
				t.Errorf("Stop after %v: %v", after, err)
			}
			const want = `level=WARN msg="closing, waiting for the answer to a call that is under way"`
			if got := strings.Join(r.log.news(), ""); after == time.Second && !strings.HasPrefix(got, want) {
				t.Errorf("logged was %s, want %s", got, want)
			}
		})
	}
}

// Who never had a worker ID does not say that it could not give one back.
func TestStopOfABeginningInVainNamesNoWorkerID(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 1)
		r.fake.Outage(true)
		r.line.acquired = func(g coord.Grant, err error) (coord.Grant, error) {
			time.Sleep(time.Second) // a client takes a moment to notice that nobody waits for it
			return g, err
		}
		r.Begin()
		pass(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		const want = "an acquisition was cut off, what it may have leased becomes free when its lease " +
			"ends: context deadline exceeded"
		if err := r.close(ctx); err == nil || err.Error() != want {
			t.Errorf("Stop: %v, want %s", err, want)
		}
		pass(time.Minute) // the call that was under way
	})
}

// Whoever waits is told within a second for what and how long, and when it is over, also
// where nothing is ever answered.
func TestWaitsAreAnnouncedWithinASecond(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 1)
		r.fake.Outage(true)
		r.Begin()
		pass(time.Second)
		r.logged(`level=WARN, msg="no worker ID yet, waiting for the coordinator to answer", ` +
			`at_most=15s, trying_until="it succeeds"`)
		pass(time.Minute)
		r.logged(`level=WARN, msg="worker ID not acquired, trying again"`)
		r.fake.Outage(false)
		r.stamps(time.Minute)
		r.logged(`level=WARN, msg="worker ID acquired", after=1m`)

		r.slowly(1200 * time.Millisecond)
		r.stop()
		r.logged(`level=WARN, msg="giving the worker ID back, waiting for the coordinator to answer", `+
			`worker_id=0, at_most=`,
			`level=INFO, msg="worker ID released"`,
			`level=WARN, msg="the worker ID was given back", worker_id=0`)
	})
}

// The generator is closed at the very moment at which a piece is due.
func TestStopWhileAPieceIsDueEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		r.raise(31 * time.Second)
		pass(2 * every)
		r.gate.close()
		pass(horizon)
		r.stop()
		r.holds(1)
	})
}
