package journal

import (
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// started and offset tie the clock of Go's runtime, which is read without a system call, to
// the machine's. On Linux both are CLOCK_MONOTONIC, so their distance is constant.
var (
	started = time.Now()
	offset  = calibrate()
)

// Now returns the reading of the machine's monotonic clock in nanoseconds. It is the same in
// every process of the machine, and no change of the wall clock affects it.
func Now() int64 { return offset + sinceStart() }

func sinceStart() int64 { return int64(time.Since(started)) }

// calibrate returns what the monotonic clock said at started. Of several readings it
// takes the one that was interrupted least.
func calibrate() int64 {
	result, best := int64(0), int64(math.MaxInt64)
	for range 16 {
		before := sinceStart()
		var t unix.Timespec
		if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
			continue
		}
		if gap := sinceStart() - before; gap < best {
			result, best = t.Nano()-before-gap/2, gap
		}
	}
	return result
}
