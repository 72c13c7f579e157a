package keeper_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/keeper"
)

// A window begins to pass when it is asked for. The first renewal is due an interval
// after that, not after the reply.
func TestSlowAcquisitionIsFollowedByARenewalInTime(t *testing.T) {
	each(t, map[string]struct{ ttl, latency time.Duration }{
		"slow":        {ttl, 800 * time.Millisecond},
		"slower":      {ttl, 1400 * time.Millisecond},
		"a short TTL": {2 * time.Second, 600 * time.Millisecond},
	}, func(t *testing.T, c struct{ ttl, latency time.Duration }) {
		r := newRig(t, 1, lease(c.ttl, 3*time.Second))
		r.slowly(c.latency)
		r.start()
		r.serves(time.Minute)
	})
}

// Whoever stops a keeper and waits no longer learns that a worker ID may stay leased.
func TestStopTellsOfAnAcquisitionThatItCutsOff(t *testing.T) {
	rounds(t, 8, func(t *testing.T) {
		r := start(t, 2)
		r.slowly(6 * time.Second)
		r.fake.Steal(0)
		pass(10 * time.Second) // the renewal after the hint, and some of the acquisition
		r.made(coordtest.Acquire, 0, 2, 3)
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		for range 2 { // when ctx ends, and when the loop has ended too
			if err := r.close(ctx); !errors.Is(err, context.DeadlineExceeded) ||
				!strings.Contains(err.Error(), "an acquisition was cut off") {
				t.Errorf("Stop: %v", err)
			}
			synctest.Wait()
		}
		r.holds(1, 0, 1)
	})
}

// A reply that takes longer than the horizon gives a window that is over. Nobody's
// clock is wrong then.
func TestRepliesThatComeTooLateAreNotTakenForAWrongClock(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1, lease(ttl, 3*time.Second))
		r.slowly(3200 * time.Millisecond)
		pass(time.Minute)
		r.because(keeper.ErrLate)
		got := strings.Join(r.log.news(), "\n")
		if strings.Contains(got, "compare the two clocks") ||
			!strings.Contains(got, "takes longer than the horizon") {
			t.Errorf("the log says\n%s", got)
		}
		r.slowly(100 * time.Millisecond)
		r.stamps(4 * time.Second)
	})
}

func TestQuarantineIsAskedAboutAsSeldomAsALease(t *testing.T) {
	rounds(t, 12, func(t *testing.T) {
		r := start(t, 1)
		floor := r.raise(10 * time.Minute)
		until := func(tick int64) { pass(time.Duration(tick-r.now()) * time.Millisecond) }
		pass(every)
		before := r.fake.Count(coordtest.Renew)
		pass(5 * time.Minute)
		r.made(coordtest.Renew, before, 0, int(5*time.Minute/(every*8/10))+1)
		r.because(coord.ErrQuarantined)
		until(floor - horizon.Milliseconds())
		pass(1100 * time.Millisecond) // the longest pause
		if left := r.gate.at(); left.from != floor || left.notAfter <= floor {
			t.Errorf("soon after the floor has come within the horizon the term is %+v", left)
		}
		until(floor + 1)
		r.stamps(0)
	})
}
