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

// A window begins to pass when it is asked for. The first renewal is due an interval
// after that, not after the reply.
func TestSlowAcquisitionIsFollowedByARenewalInTime(t *testing.T) {
	for _, tt := range []struct{ ttl, horizon, latency time.Duration }{
		{ttl, 3 * time.Second, 800 * time.Millisecond},
		{ttl, 3 * time.Second, 1400 * time.Millisecond},
		{2 * time.Second, 3 * time.Second, 600 * time.Millisecond},
	} {
		t.Run(fmt.Sprintf("horizon %v, latency %v", tt.horizon, tt.latency), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, 1, lease(tt.ttl, tt.horizon))
				r.slowly(tt.latency)
				r.start()
				if _, not := r.stampFor(time.Minute); not != 0 {
					t.Errorf("%d IDs were refused in the first minute", not)
				}
				r.led.checkAll()
			})
		})
	}
}

// Whoever stops a keeper and waits no longer learns that a worker ID may stay leased.
func TestStopTellsOfAnAcquisitionThatItCutsOff(t *testing.T) {
	rounds(t, 8, func(t *testing.T) {
		r := start(t, 2)
		r.slowly(6 * time.Second)
		r.fake.Steal(0)
		pass(10 * time.Second) // the renewal after the hint, and some of the acquisition
		if n := r.fake.Count(coordtest.Acquire); n < 2 || n > 3 {
			t.Fatalf("%d acquisitions, want one under way, and at most one beside it", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		err := r.close(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || len(r.fake.Holders()) != 2 {
			t.Errorf("Stop: %v, and held are %v", err, r.fake.Holders())
		}
	})
}

// A reply that takes longer than the horizon gives a window that is over. Nobody's
// clock is wrong then.
func TestRepliesThatComeTooLateAreNotTakenForAWrongClock(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var log journal
		r := start(t, 1, lease(ttl, 3*time.Second), log.keep)
		r.slowly(3200 * time.Millisecond)
		pass(time.Minute)
		if why := r.gate.reason(); !errors.Is(why, keeper.ErrLate) {
			t.Errorf("the reason is %v, want %v", why, keeper.ErrLate)
		}
		if got := strings.Join(log.news(), "\n"); strings.Contains(got, "compare the two clocks") || !strings.Contains(got, "takes longer than the horizon") {
			t.Errorf("the log says\n%s", got)
		}
		r.slowly(100 * time.Millisecond)
		within(t, 4*time.Second, "service resumes", r.gate.stamp)
	})
}

// A deadline that follows a slow coordinator is no reason to notice late that it is back.
func TestServiceResumesSoonAfterAnOutageOfASlowCoordinator(t *testing.T) {
	const latency = 3 * time.Second
	for offset := time.Duration(0); offset < 8*time.Second; offset += 250 * time.Millisecond {
		t.Run(offset.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := start(t, 1)
				r.slowly(latency)
				pass(time.Minute)
				r.slowly(time.Hour)
				pass(time.Minute + offset)
				if r.gate.stamp() {
					t.Error("IDs are stamped a minute into an outage")
				}
				r.slowly(10 * time.Millisecond)
				within(t, every+100*time.Millisecond, "an ID is stamped again", r.gate.stamp)
			})
		})
	}
}

func TestQuarantineIsAskedAboutAsSeldomAsALease(t *testing.T) {
	rounds(t, 12, func(t *testing.T) {
		r := start(t, 1)
		floor := r.raise(10 * time.Minute)
		pass(every)
		before := r.fake.Count(coordtest.Renew)
		pass(5 * time.Minute)
		if n, most := r.fake.Count(coordtest.Renew)-before, int(5*time.Minute/(every*8/10))+1; n > most {
			t.Errorf("%d renewals in 5 minutes of a quarantine, want at most %d", n, most)
		}
		if why := r.gate.reason(); !errors.Is(why, coord.ErrQuarantined) {
			t.Errorf("the reason is %v", why)
		}
		for r.now() < floor-horizon.Milliseconds() {
			pass(100 * time.Millisecond)
		}
		pass(1100 * time.Millisecond) // the longest pause
		if left := r.gate.at(); left.from != floor || left.notAfter <= floor {
			t.Errorf("soon after the floor has come within the horizon the term is %+v", left)
		}
		for r.now() <= floor {
			pass(100 * time.Millisecond)
		}
		if !r.gate.stamp() {
			t.Error("no ID is stamped above the floor")
		}
		r.led.checkAll()
	})
}
