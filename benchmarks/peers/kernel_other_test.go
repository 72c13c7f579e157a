//go:build !(linux && amd64)

package peers

import "time"

// kernelMicro reads the system's clock in the way of clock.System.
func kernelMicro() int64 { return time.Now().UnixMicro() }
