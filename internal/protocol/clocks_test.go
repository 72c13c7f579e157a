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
	k := &clocks{bound: time.Second}
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
		err := k.check(t.Context(), nil, &Survey{Server: 5_000_000, Unit: 1000}, Span{tt.earliest, tt.latest})
		if (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestClockForFloor: the time that counts for others, by the back end's clock and this
// machine's.
func TestClockForFloor(t *testing.T) {
	const second = 1_000_000
	k := &clocks{bound: time.Second}
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
		if got, _, err := k.forFloor(tt.local, tt.server, nil); err != nil || got != tt.want {
			t.Errorf("this machine says %d and the back end %d: %d, %v; want %d", tt.local, tt.server, got, err, tt.want)
		}
	}
}

// TestSampled: the holders that a clock is compared with are spread over the worker IDs.
func TestSampled(t *testing.T) {
	for count, want := range map[int][]int{0: {}, 2: {0, 1}, 9: {0, 1, 2, 3, 4, 5, 6, 7, 8}, 900: {0, 100, 200, 300, 400, 500, 600, 700, 800}} {
		all := make([]Holder, count)
		for i := range all {
			all[i] = Holder{Worker: i, Changed: 1, Mark: func() (Mark, error) { return Mark{Renewed: int64(i)}, nil }}
		}
		some, marks, err := sampled(all, 0)
		if err != nil || len(some) != len(want) || len(marks) != len(want) {
			t.Fatalf("of %d: %d, %d, %v; want %d", count, len(some), len(marks), err, len(want))
		}
		for i, id := range want {
			if some[i].Worker != id || marks[i].Renewed != int64(id) {
				t.Errorf("of %d: holder %d is %d", count, i, some[i].Worker)
			}
		}
		if newer, _, _ := sampled(all, 1); len(newer) != 0 {
			t.Errorf("%d have renewed since", len(newer))
		}
	}
}
