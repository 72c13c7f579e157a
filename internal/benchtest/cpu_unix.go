//go:build unix

package benchtest

import (
	"syscall"
	"time"
)

// CPUTime is the processor time of this process so far, in user and in system mode;
// ok is false where it cannot be told.
func CPUTime() (d time.Duration, ok bool) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0, false
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), true
}
