//go:build !linux

package lifetime

import "time"

// began is when the process began to measure.
var began = Now()

// Uptime returns how much time has passed by a clock that nobody sets. It need not count the time
// in which the machine was suspended.
func Uptime() time.Duration { return Since(began) }
