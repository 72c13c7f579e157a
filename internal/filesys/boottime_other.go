//go:build !(linux || darwin || (freebsd && !386 && !arm))

package filesys

import (
	"errors"
	"time"
)

// BootTime fails: here it is not known.
func BootTime() (time.Duration, error) { return 0, errors.ErrUnsupported }
