package filelock

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

const (
	lockFailImmediately = 0x1
	lockExclusive       = 0x2

	// errLockViolation is ERROR_LOCK_VIOLATION: somebody else has the lock.
	errLockViolation syscall.Errno = 33

	// lockOffsetHigh puts the locked byte at 2^62. Windows keeps others from reading
	// what is locked, and the process number at the start of the file is for others
	// to read.
	lockOffsetHigh = 1 << 30
)

var lockFileEx = syscall.NewLazyDLL("kernel32.dll").NewProc("LockFileEx")

// tryLock locks f for this handle, also against others in the same process, and
// returns false if it is locked already.
func tryLock(f *os.File) (bool, error) { return lockByte(f, lockExclusive) }

// tryShare is tryLock for a lock that several can have, as long as nobody has the
// one of tryLock.
func tryShare(f *os.File) (bool, error) { return lockByte(f, 0) }

func lockByte(f *os.File, how uintptr) (bool, error) {
	if err := lockFileEx.Find(); err != nil { // Call would panic
		return false, err
	}
	at := &syscall.Overlapped{OffsetHigh: lockOffsetHigh}
	r, _, err := lockFileEx.Call(f.Fd(), how|lockFailImmediately, 0, 1, 0, uintptr(unsafe.Pointer(at)))
	switch {
	case r != 0:
		return true, nil
	case errors.Is(err, errLockViolation):
		return false, nil
	}
	return false, err
}
