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

// TestHolderNode_Ticket: numbers from 2^31 on, which ZooKeeper prints as negative ones, rise.
func TestHolderNode_Ticket(t *testing.T) {
	for number, want := range map[string]int64{
		"0000000000": 1, "2147483647": 1 << 31, "-2147483648": 1<<31 + 1, "-000000001": 1 << 32,
	} {
		if n := newHolderNode("/holders/a-"+number, "/holders/a-").ticket; n != want {
			t.Errorf("number %s is ticket %d; want %d", number, n, want)
		}
	}
}
