package keeper_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/keeper"
)

// timeout sets how long a start goes on.
func timeout(d time.Duration) func(*keeper.Config) {
	return func(c *keeper.Config) { c.StartTimeout = d }
}

// A holder that lives may stop, and does so often where programs are replaced by others.
func TestStartWaitsForAHolderThatLives(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var log journal
		r := start(t, 1)
		other := join(t, r.fake, r.led, log.keep)
		pass(time.Minute)
		time.AfterFunc(8*time.Second, func() {
			if err := r.close(t.Context()); err != nil {
				t.Error(err)
			}
		})
		began := time.Now()
		other.start()
		if took := time.Since(began); took < 8*time.Second || took > 9500*time.Millisecond {
			t.Errorf("Start took %v, the worker ID was free after 8s", took)
		}
		log.wants(t, `level=WARN, msg="every worker ID is held, waiting for one to become free", error=, lease_ends=, trying_until=`, `level=WARN, msg="worker ID acquired", after=`)
	})
}

// The error says that there is no worker ID, and only after the start timeout.
func TestStartTimeoutIsItsOwn(t *testing.T) {
	for name, prepare := range map[string]func(*rig){
		"refused":  func(r *rig) { r.fake.Refuse(true) },
		"no reply": func(r *rig) { r.fake.Outage(true) },
		"all held": func(r *rig) { r.fake.Steal(0) },
	} {
		for _, limit := range []time.Duration{500 * time.Millisecond, 3 * time.Second, 5 * time.Minute} {
			t.Run(name+" "+limit.String(), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					r := newRig(t, 1, timeout(limit))
					prepare(r)
					if name == "all held" { // for ever
						r.line.acquired = func(coord.Grant, error) (coord.Grant, error) {
							return coord.Grant{}, &coord.NoWorkerIDError{Soonest: time.Now().Add(ttl)}
						}
					}
					began := time.Now()
					err := r.Start(t.Context())
					if took := time.Since(began); took < limit || took > limit+time.Second || err == nil || !strings.HasPrefix(err.Error(), "no worker ID after ") {
						t.Errorf("Start took %v: %v", took, err)
					}
				})
			})
		}
	}
}

// A coordinator that no longer answers does not hide what it has said.
func TestStartSaysThatAllAreHeldAlsoIfThereIsNoAnswerSince(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 1, timeout(10*time.Second))
		asked := 0
		r.line.acquired = func(coord.Grant, error) (coord.Grant, error) {
			if asked++; asked > 3 {
				return coord.Grant{}, coordtest.ErrUnreachable
			}
			return coord.Grant{}, &coord.NoWorkerIDError{Soonest: time.Now().Add(ttl)}
		}
		if err := r.Start(t.Context()); !errors.Is(err, coord.ErrNoWorkerID) || !errors.Is(err, coordtest.ErrUnreachable) {
			t.Errorf("Start: %v", err)
		}
	})
}

// A server that is wrong may also be slow, and then the last thing that is known is not that
// time was up.
func TestStartSaysWhatWasWrongBeforeTimeWasUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 1, timeout(10*time.Second))
		asked := 0
		r.line.acquired = func(coord.Grant, error) (coord.Grant, error) {
			if asked++; asked > 3 {
				return coord.Grant{}, fmt.Errorf("no answer: %w", context.DeadlineExceeded)
			}
			return coord.Grant{}, coordtest.ErrUnreachable
		}
		if err := r.Start(t.Context()); !errors.Is(err, coordtest.ErrUnreachable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Start: %v", err)
		}
	})
}

func TestStartWithoutTimeoutGoesOnUntilItsContextEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var log journal
		r := newRig(t, 1, timeout(-1), log.keep)
		r.fake.Refuse(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		if err := r.Start(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Hour {
			t.Errorf("Start took %v: %v", time.Since(began), err)
		}
		log.wants(t, `level=WARN, msg="worker ID not acquired, trying again", unreachable, trying_until=2000-01-01T01:00:00.000Z`)
	})
}

func TestBeginGoesOnWhateverFails(t *testing.T) {
	for name, err := range map[string]error{"unreachable": coordtest.ErrUnreachable, "all held": coord.ErrNoWorkerID, "layout": coord.ErrLayoutMismatch, "invalid": coord.ErrInvalid} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var log journal
				r := newRig(t, 1, log.keep)
				r.fake.Fail(coordtest.Acquire, err, coordtest.Forever)
				r.Begin()
				pass(time.Hour)
				if why := r.gate.reason(); !errors.Is(why, err) {
					t.Errorf("after an hour the gate is told %v", why)
				}
				r.fake.Heal()
				within(t, 2*time.Second, "there is a worker ID", func() bool { return r.gate.stamp() })
				log.wants(t, `level=WARN, msg="worker ID not acquired, trying again", trying_until="it succeeds"`, `level=WARN, msg="worker ID acquired", after=1h0m`)
			})
		})
	}
}

// Whoever stops a keeper in the middle of an acquisition, which may have been granted, is told that its answer is waited for.
func TestStopInTheMiddleOfAnAcquisitionIsAnnounced(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var log journal
		r := newRig(t, 1, log.keep)
		r.fake.Outage(true)
		r.Begin()
		pass(time.Second)
		log.wants(t, `level=WARN, msg="no worker ID yet, waiting for the coordinator to answer"`)
		done := make(chan error, 1)
		go func() { done <- r.close(t.Context()) }()
		pass(time.Second)
		log.wants(t, `level=WARN, msg="closing, waiting for the answer to a call that is under way"`)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// An acquisition that is not answered keeps whoever stops the keeper no longer than one call takes.
func TestStopCutsAnAcquisition(t *testing.T) {
	for _, after := range []time.Duration{time.Second, 16 * time.Second, time.Minute} {
		bubble(t, func(t *testing.T) {
			r := newRig(t, 1)
			r.fake.Outage(true)
			r.Begin()
			pass(after)
			began := time.Now()
			if err := r.close(t.Context()); err != nil || time.Since(began) > 5*time.Second {
				t.Errorf("Stop after %v took %v: %v", after, time.Since(began), err)
			}
		})
	}
}

// Whoever waits is told within a second for what and how long, and when it is over, also
// where nothing is ever answered.
func TestWaitsAreAnnouncedWithinASecond(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var log journal
		r := newRig(t, 1, log.keep)
		r.fake.Outage(true)
		r.Begin()
		pass(time.Second)
		log.wants(t, `level=WARN, msg="no worker ID yet, waiting for the coordinator to answer", at_most=15s, trying_until="it succeeds"`)
		pass(time.Minute)
		log.wants(t, `level=WARN, msg="worker ID not acquired, trying again"`)
		r.fake.Outage(false)
		within(t, time.Minute, "there is a worker ID", func() bool { return r.gate.stamp() })
		log.wants(t, `level=WARN, msg="worker ID acquired", after=1m`)

		r.line.set(func(l *line) { l.slow = func(coordtest.Op) time.Duration { return 1200 * time.Millisecond } })
		done := make(chan error, 1)
		go func() { done <- r.close(t.Context()) }()
		pass(time.Second)
		log.wants(t, `level=WARN, msg="giving the worker ID back, waiting for the coordinator to answer", worker_id=0, at_most=`)
		if err := <-done; err != nil {
			t.Error(err)
		}
		log.wants(t, `level=INFO, msg="worker ID released"`, `level=WARN, msg="the worker ID was given back", worker_id=0`)
	})
}
