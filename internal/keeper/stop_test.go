package keeper_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
)

func TestStopTrimsToWhatTheShutGateReturned(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		r.stampFor(3 * time.Second)
		r.line.onRelease = func(_ coord.Grant, last int64) {
			if got := r.gate.at(); !got.shut || got.last != last {
				t.Errorf("released up to tick %d, and the term is %+v", last, got)
			}
		}
		if err := r.close(t.Context()); err != nil {
			t.Errorf("Stop: %v", err)
		}
		got := r.gate.at()
		if s := r.fake.Slot(0); s.Token != "" || s.NotAfter != got.last || got.last < r.now()-100 {
			t.Errorf("stored is %+v, the last tick stamped %d at tick %d", s, got.last, r.now())
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
		if s := r.fake.Slot(0); s.NotBefore != r.fake.Floor() {
			t.Fatalf("stored is %+v, no piece above %d", s, r.fake.Floor())
		}
		if err := r.close(t.Context()); err != nil {
			t.Errorf("Stop: %v", err)
		}
		if calls, last := r.fake.CallsOf(coordtest.Release), r.gate.at().last; len(calls) != 1 || calls[0].Last != last {
			t.Errorf("released by %+v, the last tick stamped is %d", calls, last)
		}
		if s := r.fake.Slot(0); s.NotAfter != r.fake.Floor() || s.Token != "" {
			t.Errorf("stored is %+v, the piece began at %d", s, r.fake.Floor())
		}
	})
}

// The reply to an acquisition arrives after the generator was closed.
func TestStopWhileAWorkerIDIsAcquiredGivesItBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 2)
		r.fake.DelayReplies(coordtest.Acquire, 2*time.Second, 1)
		r.fake.Steal(0)
		pass(time.Second)
		if err := r.close(t.Context()); err != nil {
			t.Errorf("Stop: %v", err)
		}
		if h := r.fake.Holders(); len(h) != 1 || h[0] != 0 {
			t.Errorf("held are %v, want the thief's 0 alone", h)
		}
		if n := r.gate.published(); n != 1 {
			t.Errorf("%d terms were published, want none after Stop", n)
		}
		if s := r.fake.Slot(1); s.Generation != 1 || s.NotAfter != 0 {
			t.Errorf("stored for worker ID 1 is %+v, and nobody ever used it", s)
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
		err := r.close(t.Context())
		const want = "worker ID 1 not released, it becomes free when its lease ends: coordtest: Release of the fake: coordtest: back end unreachable"
		if err == nil || err.Error() != want {
			t.Errorf("Stop: %v, want %s", err, want)
		}
	})
}

func TestStopDuringARenewalReleasesAfterIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		r.fake.DelayRequests(coordtest.Renew, time.Second, coordtest.Forever)
		within(t, 2*every, "a renewal is under way", func() bool { return r.fake.Count(coordtest.Renew) == 1 })
		began := time.Now()
		if err := r.close(t.Context()); err != nil {
			t.Errorf("Stop: %v", err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("Stop took %v", took)
		}
		if h := r.fake.Holders(); len(h) != 0 {
			t.Errorf("held are %v", h)
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
		if h := r.fake.Holders(); len(h) != 2 {
			t.Fatalf("held are %v, want the old and the new one", h)
		}
		if err := r.close(t.Context()); err != nil {
			t.Errorf("Stop: %v", err)
		}
		if h := r.fake.Holders(); len(h) != 0 || r.gate.published() != 1 {
			t.Errorf("held are %v, %d terms were published", h, r.gate.published())
		}
	})
}

func TestReleaseWhoseReplyWasLostIsRepeated(t *testing.T) {
	for name, fault := range map[string]func(*coordtest.Fake){
		"reply":   func(f *coordtest.Fake) { f.LoseReplies(coordtest.Release, 1) },
		"request": func(f *coordtest.Fake) { f.LoseRequests(coordtest.Release, 1) },
		"refused": func(f *coordtest.Fake) { f.Fail(coordtest.Release, coordtest.ErrUnreachable, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := start(t, 1)
				fault(r.fake)
				if err := r.close(t.Context()); err != nil {
					t.Errorf("Stop: %v", err)
				}
				if s := r.fake.Slot(0); s.Token != "" {
					t.Errorf("the worker ID is still held: %+v", s)
				}
				if n := r.fake.Count(coordtest.Release); n < 2 || n > 4 {
					t.Errorf("%d releases", n)
				}
			})
		})
	}
}

func TestStopOfALostWorkerIDIsNoError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 1)
		r.line.set(func(l *line) { l.lost = func(coord.Grant) <-chan struct{} { return nil } })
		r.start()
		r.fake.Steal(0)
		if err := r.close(t.Context()); err != nil {
			t.Errorf("Stop: %v", err)
		}
		if s := r.fake.Slot(0); s.Holder != "thief" {
			t.Errorf("stored is %+v, and it is the thief's", s)
		}
	})
}

func TestStopWithTheBackEndDownReturnsWithItsContext(t *testing.T) {
	for name, outage := range map[string]func(*coordtest.Fake, bool){"dead link": (*coordtest.Fake).Outage, "refused": (*coordtest.Fake).Refuse} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := start(t, 1)
				outage(r.fake, true)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				began := time.Now()
				err := r.close(ctx)
				if took := time.Since(began); took != time.Second {
					t.Errorf("Stop took %v, its context 1s", took)
				}
				if err == nil || !strings.Contains(err.Error(), "it becomes free when its lease ends: ") || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Stop: %v", err)
				}
			})
		})
	}
}

func TestStopWithTheBackEndDownGivesUpByItself(t *testing.T) {
	for name, outage := range map[string]func(*coordtest.Fake, bool){"dead link": (*coordtest.Fake).Outage, "refused": (*coordtest.Fake).Refuse} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := start(t, 1)
				outage(r.fake, true)
				began := time.Now()
				err := r.close(t.Context())
				if took := time.Since(began); took < 3*time.Second || took > 6*time.Second {
					t.Errorf("Stop took %v", took)
				}
				if err == nil || !strings.HasPrefix(err.Error(), "worker ID 0 not released, it becomes free when its lease ends: ") {
					t.Errorf("Stop: %v", err)
				}
			})
		})
	}
}

func TestStopTwiceReturnsTheSame(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		r.fake.Refuse(true)
		first := r.close(t.Context())
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for range 100 {
			if second := r.Stop(ended); first == nil || !errors.Is(second, coordtest.ErrUnreachable) || second.Error() != first.Error() {
				t.Fatalf("Stop: %v, and the second time: %v", first, second)
			}
		}
	})
}

func TestStopBeforeStartDoesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 1)
		for range 2 {
			if err := r.Stop(t.Context()); err != nil {
				t.Errorf("Stop: %v", err)
			}
		}
		if n := len(r.fake.Calls()); n != 0 {
			t.Errorf("%d calls", n)
		}
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
		if r.gate.published() != 1 {
			t.Error("a term was published by a closed generator")
		}
		if err := r.close(t.Context()); err != nil {
			t.Errorf("Stop: %v", err)
		}
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
		within(t, 2*every, "a renewal is under way", func() bool { return r.fake.Count(coordtest.Renew) == 1 })
		if err := r.close(t.Context()); err != nil || !ended {
			t.Errorf("Stop: %v; the renewal has ended: %t", err, ended)
		}
	})
}
