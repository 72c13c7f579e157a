package etcd

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
	for _, tc := range []struct {
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
		if err := (clockCheck{now: tc.now, took: tc.took}).compare(low, high, time.Second); errors.Is(err, coord.ErrClockSkew) != tc.refused {
			t.Errorf("a clock that said %d before an answer that took %v: %v", tc.now, tc.took, err)
		}
	}
}
