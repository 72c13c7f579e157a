package worker

import (
	"encoding/binary"
	"os"
	"time"

	"github.com/unalike-id/unalike/clock"
)

// ClockFile is the offset of the clock of one or more workers, in microseconds. Its methods are
// safe for concurrent use.
type ClockFile struct{ *os.File }

// OpenClock opens the file that shifts the clocks of the workers that are given its path. The
// offset of a new one is 0. It stays open until the process ends.
func OpenClock(path string) (ClockFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	return ClockFile{f}, err
}

// Set makes the workers' clocks differ from the machine's by offset, from now on: they step.
func (c ClockFile) Set(offset time.Duration) {
	// In a folder of the suite's own, eight bytes at a time: workers see all of them, or none.
	_, _ = c.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(offset.Microseconds())), 0)
}

// Offset returns by how much the workers' clocks differ from the machine's.
func (c ClockFile) Offset() time.Duration {
	var b [8]byte
	_, _ = c.ReadAt(b[:], 0) // a new file has nothing
	return time.Duration(binary.NativeEndian.Uint64(b[:])) * time.Microsecond
}

// shiftedClock is the system's clock with the offset of a file.
type shiftedClock struct {
	base clock.Clock
	file ClockFile
}

// UnixMicro implements [clock.Clock].
func (s shiftedClock) UnixMicro() int64 {
	return s.base.UnixMicro() + s.file.Offset().Microseconds()
}

// FreshUnixMicro implements [clock.Fresher].
func (s shiftedClock) FreshUnixMicro() int64 {
	return clock.Fresh(s.base) + s.file.Offset().Microseconds()
}
