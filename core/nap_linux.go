package core

import (
	"syscall"
	"time"
)

// nap sleeps for d, which is about a millisecond at most, and wakes within 0.15 ms
// of the time: the runtime's own timers would be up to a millisecond late. It
// holds up its thread and nothing else; a nap that a signal cuts short is fine.
func nap(d time.Duration) {
	ts := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&ts, nil)
}
