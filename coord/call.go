package coord

import "time"

// Call is one finished call to a [Coordinator], as a generator reports it for metrics.
type Call struct {
	// Op is the method that was called: "acquire", "renew", "resume" or "release".
	Op string
	// WorkerID is the worker ID that the call was about; -1: an acquisition that got none.
	WorkerID int
	// Took is how long the call lasted, by the machine's monotonic clock.
	Took time.Duration
	// Err is what it returned. A call that was given up because a later one was answered
	// first ends with context.Canceled.
	Err error
}
