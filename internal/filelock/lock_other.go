//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package filelock

import (
	"fmt"
	"os"
	"runtime"
)

// tryLock fails: who asks for a lock must not be told that there is one.
func tryLock(*os.File) (bool, error) {
	return false, fmt.Errorf("%w on %s", ErrUnsupported, runtime.GOOS)
}

// tryShare fails likewise.
func tryShare(f *os.File) (bool, error) { return tryLock(f) }
