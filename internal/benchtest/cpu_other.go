//go:build !unix

package benchtest

import "time"

// CPUTime is not known here.
func CPUTime() (time.Duration, bool) { return 0, false }
