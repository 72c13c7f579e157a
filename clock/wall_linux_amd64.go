package clock

import "syscall"

// wallMicro reads the wall clock through the vDSO. On this platform the call
// neither enters the kernel nor fails, and tv does not escape.
func wallMicro() int64 {
	var tv syscall.Timeval
	if err := syscall.Gettimeofday(&tv); err != nil {
		return wallPortable()
	}
	return tv.Sec*1_000_000 + tv.Usec
}
