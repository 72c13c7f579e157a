package lifetime

import (
	"syscall"
	"time"
	"unsafe"
)

// clockBoottime is CLOCK_BOOTTIME of clock_gettime(2).
const clockBoottime = 7

// Uptime returns how long the machine has been up, the time included in which it was suspended.
// Nobody sets it. It is 0 if the kernel does not tell.
func Uptime() time.Duration {
	var t syscall.Timespec
	if _, _, err := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime,
		uintptr(unsafe.Pointer(&t)), 0); err != 0 {
		return 0
	}
	return time.Duration(t.Nano())
}
