//go:build !unix

package numbertest

import "time"

// pause does nothing where processes cannot be stopped.
func (*storm) pause(*taker, time.Duration) {}
