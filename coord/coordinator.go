package coord

import (
	"context"
	"time"

	"github.com/unalike-id/unalike/clock"
)

// Coordinator leases worker IDs of one namespace. The package comment has the
// rules that an implementation keeps. All methods are safe for concurrent use,
// block for as long as the back end needs, and return promptly when ctx ends.
type Coordinator interface {
	// Acquire leases a worker ID and returns its grant. Errors, by errors.Is:
	// [ErrNoWorkerID] if all of them are held, [ErrLayoutMismatch] if the
	// namespace has another layout, [ErrClockSkew] if the caller's clock is too
	// far from the back end's, [ErrQuarantined], [ErrInvalid] for a request or a
	// configuration that can never work, [ErrClosed] after Close. After any other
	// error the outcome is unknown.
	Acquire(ctx context.Context, req Request) (Grant, error)

	// Renew extends the window of g to the tick until, and its lease. The result
	// is g with a later NotAfter; with a later NotBefore as well, it is a separate
	// piece that must not be used before g's own window has ended. The error
	// [ErrLeaseLost] is definite: the worker ID is not the caller's any more.
	// [ErrQuarantined] says that the window could not grow; after that and any
	// other error the holder goes on inside the window it has. Of two calls at
	// once for the same grant, one may answer for both: then the window ends where
	// that one had asked for.
	Renew(ctx context.Context, g Grant, until int64) (Grant, error)

	// Release gives the worker ID back. The caller stamps nothing any more, and
	// last is the last tick that it stamped, or g.NotBefore if it stamped none.
	Release(ctx context.Context, g Grant, last int64) error

	// Close ends the coordinator's own activity. It releases no grant, and it does
	// not close a client that was passed in. Calls after it return [ErrClosed].
	Close() error
}

// Request says what a holder needs. All ticks are in the unit of Scale.
type Request struct {
	// Token is the random name of this acquisition attempt, the same for its
	// retries and never used for another.
	Token string
	// Identity names a holder across its restarts, so that it can get its last
	// worker ID back. Empty: none.
	Identity string
	// Holder tells an operator who holds the worker ID: host and process.
	Holder string

	// Fingerprint is the layout in the form that core.Layout.String prints.
	Fingerprint string
	// Scale converts between the back end's clock and ticks.
	Scale clock.Scale
	// LastTick is the largest tick that the layout can express.
	LastTick int64
	// Workers is the share of worker IDs to choose from; its Count is not 0.
	Workers Range
	// Capacity is the number of worker IDs that the layout has.
	Capacity int

	// TTL is how long the lease outlives its last renewal.
	TTL time.Duration
	// Now is the caller's clock.
	Now int64
	// Until is the NotAfter that the caller wants: Now plus the horizon, at most
	// LastTick.
	Until int64
	// Surviving says that the holder keeps its grant through restarts, in a state file: it
	// goes on in the window that it has, so that a crash loop does not shut worker IDs. Only
	// then may Until lie further ahead than the driver's own limit, up to what the namespace
	// was declared with, see [Space]. Package core sets it.
	Surviving bool
	// OpenBy is the tick by which the window should open. It is a preference: if
	// no worker ID can meet it, the one that opens first is granted.
	OpenBy int64
	// MustOpen makes OpenBy a condition: if no worker ID can meet it, the error is
	// [ErrNoWorkerID], or [ErrQuarantined] if the floor lies above it, and nothing is written.
	MustOpen bool
	// Ahead is how many ticks past its clock a holder may stamp: lead plus rollback
	// tolerance. A driver that remembers nothing keeps that distance from a
	// predecessor which it cannot know.
	Ahead int64
}

// Waiter is implemented by coordinators whose back end reports released worker IDs.
type Waiter interface {
	// AwaitFree blocks until a worker ID that req asks for may be free, and returns true. It
	// returns false if ctx ends before, or immediately if the back end cannot report it. True is
	// a hint, which may be wrong. The caller's last Acquire with req.Token found all of them held.
	AwaitFree(ctx context.Context, req Request) bool
}

// Notifier is implemented by coordinators that can learn of a lost lease before
// the next renewal.
type Notifier interface {
	// Lost returns a channel that is closed when the lease of g seems to be gone.
	// It is a hint: the holder answers with a renewal. Lost does not block. What
	// it holds is freed by Release of g, by a Renew of g that returned
	// [ErrLeaseLost], by Close, or when the hint was given. Nil: there will be no hint.
	Lost(g Grant) <-chan struct{}
}
