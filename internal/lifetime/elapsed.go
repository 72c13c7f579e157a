package lifetime

import "time"

// Now is a reading of the machine's clock for measuring how much time passes. It tells
// nobody what time it is: that is up to clocks that can be set, and replaced in tests.
func Now() time.Time {
	//nolint:forbidigo // for measuring how much time passes, which no clock that is set can tell
	return time.Now()
}

// Since is how much time has passed since a reading of [Now].
func Since(t time.Time) time.Duration { return Now().Sub(t) }

// Until is how long it takes until a deadline of a context, which is kept by the machine's
// timers and not by anybody's clock.
func Until(deadline time.Time) time.Duration { return deadline.Sub(Now()) }
