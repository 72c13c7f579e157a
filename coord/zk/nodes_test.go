package zk

import (
	"math"
	"testing"

	"github.com/unalike-id/unalike/internal/safetytest"
)

// The number of a ticket goes on where versions begin again, falls with a loss of
// writes, and is never negative.
func TestTicketNumber(t *testing.T) {
	for name, versions := range map[string][]int32{
		"in order": {0, 1, 2, 1000},
		"after all": {
			math.MaxInt32 - 1, math.MaxInt32, math.MinInt32, math.MinInt32 + 1, -2, 0, 1,
			1000,
		},
		"from below": {math.MinInt32, -2, 0},
	} {
		var st store
		last := int64(-1)
		for _, v := range versions {
			n := st.number(v)
			if n <= last || int32(n) != v {
				safetytest.Of(t).Errorf("%s: version %d is ticket %d after %d", name, v, n, last)
			}
			last = n
		}
		if n := st.number(versions[len(versions)-1] - 5); n != last-5 {
			t.Errorf("%s: five versions before ticket %d is %d", name, last, n)
		}
	}
}
