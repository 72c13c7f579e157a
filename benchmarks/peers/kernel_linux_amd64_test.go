package peers

import "syscall"

// kernelMicro reads the kernel's clock in the way of clock.System, without what that keeps.
func kernelMicro() int64 {
	var tv syscall.Timeval
	if err := syscall.Gettimeofday(&tv); err != nil {
		return 0 // the vDSO does not fail
	}
	return tv.Sec*1_000_000 + tv.Usec
}
