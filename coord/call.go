package coord

import "time"

// CallOp is the kind of a [Call]: "acquire", "renew" or "release".
type CallOp string

// The kinds of calls.
const (
	CallAcquire CallOp = "acquire"
	CallRenew   CallOp = "renew"
	CallRelease CallOp = "release"
)

// Call is one finished call to a [Coordinator], as a generator reports it for metrics.
type Call struct {
	// Op is which method was called.
	Op CallOp
	// WorkerID is the worker ID that the call was about; -1: an acquisition that got none.
	WorkerID int
	// Took is how long the call lasted, by the machine's monotonic clock.
	Took time.Duration
	// Err is what it returned. A call that was given up because a later one was answered
	// first ends with context.Canceled.
	Err error
}
