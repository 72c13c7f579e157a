package keeper

import (
	"testing"
	"time"
)

func TestDeadlineFollowsTimeOutsAndLatency(t *testing.T) {
	const base, most, ttl = time.Second, 5 * time.Second, 15 * time.Second
	d := newDeadline(base, most, ttl)
	want := func(what string, wait time.Duration) {
		t.Helper()
		if d.wait != wait {
			t.Errorf("after %s the deadline is %v, want %v", what, d.wait, wait)
		}
	}
	want("nothing", base)
	for _, wait := range []time.Duration{2 * time.Second, 4 * time.Second, most, most} {
		d.missed()
		want("a time-out", wait)
	}
	d.met(10 * time.Millisecond)
	want("a quick success", base)
	d.met(2 * time.Second)
	want("a success after 2s", 6*time.Second)
	d.missed()
	want("a time-out when it is above what time-outs lead to", most)
	d.met(4 * time.Second)
	want("a success after 4s", 12*time.Second)
	for range 2 {
		d.missed()
		want("a time-out when an ordinary call takes 4s", 6*time.Second)
	}
	d.met(7 * time.Second)
	want("a success after 7s", ttl)
}

func TestDeadlineLeavesTimeForAnotherAttempt(t *testing.T) {
	for _, tt := range []struct{ took, left, want time.Duration }{
		{3, 30, 9},   // much is left
		{3, 12, 6},   // half of it
		{3, 6, 4},    // but more than the call takes
		{0, 12, 1},   // the base
		{20, 60, 15}, // the longest of all
		{4, 0, 12},   // the window is over
	} {
		d := newDeadline(time.Second, 5*time.Second, 15*time.Second)
		d.met(tt.took * time.Second)
		got := d.within(tt.left * time.Second).Truncate(time.Second)
		if got != tt.want*time.Second {
			t.Errorf("with a latency of %ds and %ds left of the window the deadline is %v, want %ds",
				tt.took, tt.left, got, tt.want)
		}
	}
}

func TestDeadlinesOfShortLeases(t *testing.T) {
	for _, tt := range []struct{ every, ttl, renew, acquire time.Duration }{
		{5 * time.Second, 15 * time.Second, longestCall, longestAcquire},
		{600 * time.Millisecond, 2 * time.Second, 600 * time.Millisecond, 2 * time.Second / 3},
		{30 * time.Millisecond, 100 * time.Millisecond, shortestCall, shortestCall},
	} {
		r, a := RenewDeadline(tt.every, tt.ttl), acquireDeadline(tt.every, tt.ttl)
		if r.wait != tt.renew || a.wait != tt.acquire || r.most < r.base || r.ttl < r.base ||
			a.most < a.base {
			t.Errorf("with a TTL of %v the deadlines are %+v and %+v", tt.ttl, r, a)
		}
	}
}
