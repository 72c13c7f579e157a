//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package static

import (
	"fmt"
	"os"
	"runtime"

	"github.com/unalike-id/unalike/coord"
)

// tryLock fails: a state file without a lock would promise what it cannot keep.
func tryLock(*os.File) (bool, error) {
	return false, fmt.Errorf("%w: file locks are not available on %s; leave the state file out", coord.ErrInvalid, runtime.GOOS)
}

// tryShare fails likewise.
func tryShare(f *os.File) (bool, error) { return tryLock(f) }
