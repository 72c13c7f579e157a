//go:build !(linux && amd64)

package clock

// wallMicro reads the wall clock. Only on linux/amd64 is gettimeofday known to
// be cheaper than time.Now; elsewhere it can be a real system call.
func wallMicro() int64 { return wallPortable() }
