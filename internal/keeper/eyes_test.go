package keeper_test

import (
	"context"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// Who gives up does not say that it tries again, until a time that is over.
func TestStartThatGivesUpSaysNothingOfTryingAgain(t *testing.T) {
	for name, ends := range map[string]bool{"its timeout": false, "its context": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var log journal
				limit := 2 * time.Second
				if ends {
					limit = time.Minute
				}
				r := newRig(t, 1, timeout(limit), log.keep)
				r.fake.Outage(true)
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				if err := r.Start(ctx); err == nil {
					t.Error("it was served")
				}
				log.wants(t, `level=WARN, msg="no worker ID yet, waiting for the coordinator to answer", at_most=2s`)
			})
		})
	}
}

// The end of a wait is that of whatever ends first: the context's is known as well.
func TestStartSaysWhenItsContextEndsIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var log journal
		r := newRig(t, 1, log.keep)
		r.fake.Refuse(true)
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		until := time.Now().Add(7 * time.Second).UTC().Format(time.RFC3339)[:19]
		if err := r.Start(ctx); err == nil {
			t.Error("it was served")
		}
		log.wants(t, `level=WARN, msg="worker ID not acquired, trying again", trying_until=`+until)
	})
}

// A clock that differs does not make a time of what has no end.
func TestStartWithoutEndSaysSoAlsoWhereClocksDiffer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var log journal
		began := time.Now()
		r := refusing(t, func() error { return &coord.ClockSkewError{Until: began.Add(ttl)} }, timeout(-1), log.keep)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		if err := r.Start(ctx); err == nil {
			t.Error("it was served")
		}
		log.wants(t, `level=WARN, msg="worker ID not acquired, trying again", trying_until="it succeeds"`)
	})
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
		const want = "an acquisition was cut off, what it may have leased becomes free when its lease ends: context deadline exceeded"
		if err := r.close(ctx); err == nil || err.Error() != want {
			t.Errorf("Stop: %v, want %s", err, want)
		}
		pass(time.Minute) // the call that was under way
	})
}
