package protocol

import (
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// TestLateAnswer: holders renew while a newcomer waits for the answer to its request,
// which is no reason to refuse it.
func TestLateAnswer(t *testing.T) {
	const low, high = 100_000_000, 115_000_000
	for _, tt := range []struct {
		now     int64
		took    time.Duration
		refused bool
	}{
		{low - 2_000_000, 0, true},
		{low - 9_000_000, 8 * time.Second, false},
		{low - 9_000_000, 7 * time.Second, true},
		{high + 1_000_000, time.Hour, false},
		{high + 2_000_000, time.Hour, true},
		{low, time.Hour, false},
	} {
		err := CheckClock(Span{tt.now, tt.now + tt.took.Microseconds()}, Span{low, high}, time.Second)
		if errors.Is(err, coord.ErrClockSkew) != tt.refused {
			t.Errorf("a clock that said %d before an answer that took %v: %v", tt.now, tt.took, err)
		}
	}
}

// TestServerClock: a clock is compared with the back end's at the moment at which they
// were nearest.
func TestServerClock(t *testing.T) {
	c := &Coordinator{set: Settings{SkewBound: time.Second}}
	for _, tt := range []struct {
		name             string
		earliest, latest int64
		ok               bool
	}{
		{"the same", 5_000_000, 5_000_000, true},
		{"ahead by the bound", 6_000_000, 6_000_000, true},
		{"ahead by more", 6_001_001, 6_001_001, false},
		{"behind by the bound", 4_000_000, 4_000_000, true},
		{"behind by more", 3_999_999, 3_999_999, false},
		{"a slow call", 1_000_000, 9_000_000, true},
		{"a slow call that began too late", 6_001_001, 99_000_000, false},
	} {
		err := c.checkClock(&Survey{Server: 5_000_000, Unit: 1000}, Span{tt.earliest, tt.latest})
		if (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestClockForFloor: the time that counts for others, by the back end's clock and this
// machine's.
func TestClockForFloor(t *testing.T) {
	const second = 1_000_000
	for _, tt := range []struct{ local, server, want int64 }{
		{100 * second, 0, 100 * second},
		{100 * second, 100 * second, 100 * second},
		{100*second + 1, 100 * second, 100*second + 1},
		{101 * second, 100 * second, 101 * second},
		{101*second + 1, 100 * second, 100 * second},
		{100*second - 1, 100 * second, 100 * second},
		{0, 100 * second, 100 * second},
		{1 << 60, 100 * second, 100 * second},
	} {
		if got := ClockForFloor(tt.local, tt.server, time.Second); got != tt.want {
			t.Errorf("this machine says %d and the back end %d: %d; want %d", tt.local, tt.server, got, tt.want)
		}
	}
}
