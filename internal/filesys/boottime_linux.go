package filesys

import (
	"syscall"
	"time"
	"unsafe"
)

// BootTime returns how long the system has been running, sleep included. No step of the clock
// changes it, and all processes of the machine read the same.
func BootTime() (time.Duration, error) {
	const bootTime = 7 // CLOCK_BOOTTIME
	var t syscall.Timespec
	if _, _, err := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, bootTime, uintptr(unsafe.Pointer(&t)),
		0); err != 0 {
		return 0, err
	}
	return time.Duration(t.Nano()), nil
}
