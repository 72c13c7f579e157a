package peers

import (
	"strconv"
	"testing"

	"github.com/sony/sonyflake/v2"

	"github.com/unalike-id/unalike/core"
)

// sonyflakePeer is github.com/sony/sonyflake/v2: a mutex, and ID times that run ahead
// of the clock while the sequence is spent, for which it sleeps. Worker IDs are given
// to it, or are the low bits of an IP address.
var sonyflakePeer = peer{
	name: "sonyflake", layouts: true,
	make: func(tb testing.TB, l core.Layout) generator {
		s := must[*sonyflake.Sonyflake](tb)(sonyflake.New(sonyflake.Settings{
			StartTime: l.Epoch, TimeUnit: l.Unit, BitsMachineID: int(l.WorkerBits),
			BitsSequence: int(l.SequenceBits),
			MachineID:    func() (int, error) { return 1, nil },
		}))
		next := must[int64](tb)
		return generator{
			spend: func(n int) {
				for range n {
					if _, err := s.NextID(); err != nil {
						tb.Error(err)
					}
				}
			},
			text: func() string { return strconv.FormatInt(next(s.NextID()), 10) },
		}
	},
}
