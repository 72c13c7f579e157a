//go:build darwin || (freebsd && !386 && !arm)

package filesys

import (
	"encoding/binary"
	"errors"
	"syscall"
	"time"
)

// BootTime returns how long the system has been running, sleep included. A step of the clock moves
// the time of the start that the system tells with it, so that the difference stays.
func BootTime() (time.Duration, error) {
	s, err := syscall.Sysctl("kern.boottime")
	if err != nil {
		return 0, err
	}
	b := append([]byte(s), 0, 0, 0, 0) // zeros at its end are cut off
	if len(s) < 8 || len(b) < 12 {
		return 0, errors.New("kern.boottime is too short")
	}
	began := time.Unix(int64(binary.NativeEndian.Uint64(b)),
		int64(binary.NativeEndian.Uint32(b[8:]))*1000)
	return time.Since(began.Round(0)), nil
}
