//go:build unix

package benchtest

import (
	"syscall"
	"time"
)

// CPUTime is the processor time of this process so far, in user and in system mode; 0 where it
// cannot be told.
func CPUTime() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r) // else it is not known
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
