package worker

import (
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/unalike-id/unalike/clock"
)

// clockSize is the size of a clock file: one int64, the offset in microseconds.
const clockSize = 8

// ClockFile is the offset of the clock of one or more workers. Its methods are safe for concurrent
// use.
type ClockFile struct {
	Path   string
	offset *atomic.Int64
}

// NewClockFile makes a file that shifts the clocks of the workers that are given its path. The
// offset is 0.
func NewClockFile(path string) (*ClockFile, error) {
	if err := os.WriteFile(path, make([]byte, clockSize), 0o600); err != nil {
		return nil, err
	}
	return openClock(path)
}

// openClock maps a clock file into memory, until the process ends.
func openClock(path string) (*ClockFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() // the mapping stays
	if info, err := f.Stat(); err != nil || info.Size() != clockSize {
		return nil, fmt.Errorf("worker: %s is not a clock file: it must have %d bytes", path, clockSize)
	}
	data, err := syscall.Mmap(int(f.Fd()), 0, clockSize, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("worker: map %s: %w", path, err)
	}
	return &ClockFile{Path: path, offset: (*atomic.Int64)(unsafe.Pointer(unsafe.SliceData(data)))}, nil
}

// Set makes the workers' clocks differ from the machine's by offset, from now on: they step.
func (c *ClockFile) Set(offset time.Duration) { c.offset.Store(offset.Microseconds()) }

// Offset returns by how much the workers' clocks differ from the machine's.
func (c *ClockFile) Offset() time.Duration {
	return time.Duration(c.offset.Load()) * time.Microsecond
}

// shiftedClock is the system's clock with the offset of a file.
type shiftedClock struct {
	base clock.Clock
	file *ClockFile
}

// UnixMicro implements [clock.Clock].
func (s shiftedClock) UnixMicro() int64 { return s.base.UnixMicro() + s.file.offset.Load() }

// FreshUnixMicro implements [clock.Fresher].
func (s shiftedClock) FreshUnixMicro() int64 { return clock.Fresh(s.base) + s.file.offset.Load() }
