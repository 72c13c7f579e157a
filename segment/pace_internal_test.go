package segment

import (
	"testing"
	"time"
)

func TestStepAfter(t *testing.T) {
	for _, tc := range []struct {
		size int64
		rate float64
		want int64
	}{
		{1000, 10, 1000},       // just right
		{1000, 15, 1500},       // more at once
		{1000, 1e4, 10_000},    // tenfold at most
		{20_000, 1e4, 100_000}, // at most
		{1000, 1e300, 10_000},  // no overflow
		{1000, 6, 1000},        // lasts for less than twice the hold
		{1000, 4, 500},         // halved
		{1000, 0, 500},
		{150, 0, 100}, // at least
	} {
		if got := stepAfter(tc.size, tc.rate, 100*time.Second, 100, 100_000); got != tc.want {
			t.Errorf("after %d at %v a second: %d, want %d", tc.size, tc.rate, got, tc.want)
		}
	}
}

func TestMarkAt(t *testing.T) {
	for _, tc := range []struct {
		size   int64
		rate   float64
		refill time.Duration
		want   int64
	}{
		{1000, 0, 0, 100},             // not known
		{1000, 10, time.Second, 500},  // half of the hold is left
		{1000, 1, time.Second, 950},   // late
		{1000, 0.001, 0, 1000},        // with the last one
		{1000, 20, time.Second, 100},  // half of the hold is all of it
		{1000, 100, time.Second, 100}, // less than half of the hold
		{1000, 10, time.Minute, 100},  // it would not outlast a few refills
		{5, 0, 0, 1},                  // small ones have a mark
		{1, 1e300, 0, 1},
		{MaxStep, 1e300, 0, MaxStep / 10},
	} {
		if got := markAt(tc.size, tc.rate, 100*time.Second, tc.refill); got != tc.want {
			t.Errorf("%+v: %d", tc, got)
		}
	}
}
