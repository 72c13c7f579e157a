//go:build !unix

package benchtest

import "time"

// CPUTime is not known here.
func CPUTime() time.Duration { return 0 }
