package core

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivers"
	"github.com/unalike-id/unalike/internal/keeper"
)

// Errors of a [Generator]. Test with errors.Is; some have a type that tells more.
var (
	// ErrClosed is returned by every call after Close.
	ErrClosed = errors.New("core: generator closed")
	// ErrClockRollback says that the clock stepped back by more than the tolerance.
	// The error is a [*ClockRollbackError]. IDs resume when the clock has caught up. After a
	// step of more than 1 s beyond the tolerance they also resume with another worker ID,
	// which the generator leases then.
	ErrClockRollback = errors.New("core: clock stepped back")
	// ErrSequenceExhausted is returned by TryNext if this tick's sequence is spent.
	// Try again in the next tick, or call Next, which waits.
	ErrSequenceExhausted = errors.New(
		"core: sequence of this tick spent; try again in the next tick or call Next, which waits")
	// ErrWindowNotOpen says that the window of the worker ID begins later than now:
	// an earlier holder's window ends only then, or windows may be forgotten that do,
	// which is so in a namespace that was not declared before its first use or has
	// lost its state, or this machine's clock is behind. The error is a
	// [*WindowNotOpenError].
	ErrWindowNotOpen = errors.New("core: issue window not open yet")
	// ErrNotStarted says that a generator made by [Start] has no worker ID yet. The error
	// is a [*NotStartedError]. Service begins by itself.
	ErrNotStarted = errors.New("core: generator not started yet")
	// ErrWindowEnded says that the window has ended and could not be extended: the
	// lease was lost or the coordinator is down. The error is a [*WindowEndedError].
	// Service resumes by itself.
	ErrWindowEnded = errors.New("core: issue window ended")
	// ErrTimeExhausted says that the layout's time bits are spent. It is final: move
	// to a layout with a later epoch or more time bits, in a new namespace.
	ErrTimeExhausted = errors.New("core: time bits of the layout spent; use a layout with a later " +
		"epoch or more time bits, in a new namespace")
	// ErrInvalidConfig says that a Config or a Layout is wrong. The message names the
	// field, its value and what is allowed. It wraps [coord.ErrInvalid].
	ErrInvalidConfig = drivers.Sentinel("core: invalid configuration", coord.ErrInvalid)
)

// errNoContext is returned for a nil context.
var errNoContext = invalid("ctx is nil; pass context.Background()")

// begin returns the error of a context that has ended, and counts it, or is none.
func (g *Generator) begin(ctx context.Context) error {
	if ctx == nil {
		return errNoContext
	}
	err := ctx.Err()
	if err != nil {
		g.refused[called].Add(1)
	}
	return err
}

// ClockRollbackError is an [ErrClockRollback] with the times.
type ClockRollbackError struct {
	WorkerID  int
	Last      time.Time     // the time of the last ID stamped, cut to the layout's unit
	Now       time.Time     // what the clock says
	Tolerance time.Duration // how much is tolerated
}

// Error says how far the clock went back and what happens next.
func (e *ClockRollbackError) Error() string {
	return fmt.Sprintf("%v by %v: it says %s, the last ID of worker ID %d carries %s; %v is "+
		"tolerated; service resumes by itself when the clock has caught up or another worker "+
		"ID is leased",
		ErrClockRollback, e.Last.Sub(e.Now), stamp(e.Now), e.WorkerID, stamp(e.Last), e.Tolerance)
}

// Unwrap returns [ErrClockRollback].
func (e *ClockRollbackError) Unwrap() error { return ErrClockRollback }

// WindowNotOpenError is an [ErrWindowNotOpen] with the times.
type WindowNotOpenError struct {
	WorkerID int
	Opens    time.Time // when the window opens
	Now      time.Time // what the clock says
}

// Error says when the window opens and what makes windows open late.
func (e *WindowNotOpenError) Error() string {
	return fmt.Sprintf("%v: worker ID %d may stamp from %s on, and it is %s; until then an earlier "+
		"holder's window lasts, or one that a new or emptied namespace may have forgotten; service "+
		"resumes by itself then; if that is long, check this machine's clock",
		ErrWindowNotOpen, e.WorkerID, stamp(e.Opens), stamp(e.Now))
}

// Unwrap returns [ErrWindowNotOpen].
func (e *WindowNotOpenError) Unwrap() error { return ErrWindowNotOpen }

// wait is how long the window has yet to open, by the clock that the error was made with.
func (e *WindowNotOpenError) wait() time.Duration { return e.Opens.Sub(e.Now) }

// NotStartedError is an [ErrNotStarted] with its reason.
type NotStartedError struct {
	Cause error // why there is no worker ID; nil: not known yet
}

// Error says why there is no worker ID yet, and what has to happen.
func (e *NotStartedError) Error() string {
	if e.Cause == nil {
		return fmt.Sprintf("%v: no worker ID is leased yet, the coordinator has not answered so far; "+
			"service begins by itself", ErrNotStarted)
	}
	return fmt.Sprintf("%v: %v; %s", ErrNotStarted, e.Cause,
		outlook(e.Cause, "begin", "once a worker ID is leased"))
}

// Unwrap returns [ErrNotStarted] and the cause.
func (e *NotStartedError) Unwrap() []error {
	if e.Cause == nil {
		return []error{ErrNotStarted}
	}
	return []error{ErrNotStarted, e.Cause}
}

// WindowEndedError is an [ErrWindowEnded] with its reason and times.
type WindowEndedError struct {
	WorkerID int
	Lost     bool      // the worker ID may be somebody else's now, and another is being leased
	Ended    time.Time // the end of the window; with Lost, when it was closed
	Renewed  time.Time // the last renewal that succeeded
	Cause    error     // what keeps the window from being extended; nil: not known yet
}

// Error says what happened, since when, and what to do.
func (e *WindowEndedError) Error() string {
	if e.Lost {
		return fmt.Sprintf("%v: worker ID %d was given up at %s: %v; last renewed %s; %s",
			ErrWindowEnded, e.WorkerID, stamp(e.Ended), e.Cause, stamp(e.Renewed), e.outlook())
	}
	cause := "no renewal since"
	if e.Cause != nil {
		cause = e.Cause.Error() + "; last renewed"
	}
	return fmt.Sprintf("%v: worker ID %d could stamp until %s: %s %s; %s",
		ErrWindowEnded, e.WorkerID, stamp(e.Ended), cause, stamp(e.Renewed), e.outlook())
}

// outlook says what has to happen before IDs can be issued again.
func (e *WindowEndedError) outlook() string {
	if e.Lost {
		return outlook(e.Cause, "resume", "once a worker ID is leased anew")
	}
	return outlook(e.Cause, "resume", "")
}

// outlook says what has to happen before service begins or resumes. Leased says what is
// lacking where there is no worker ID; empty: there is one.
func outlook(cause error, begins, leased string) string {
	var (
		file *fs.PathError
		link *os.LinkError
	)
	switch {
	case errors.Is(cause, coord.ErrNamespaceClosed):
		return "service does not " + begins + " in this namespace"
	case errors.Is(cause, coord.ErrClosed):
		return "service does not " + begins + "; close a generator before its coordinator"
	case errors.Is(cause, coord.ErrQuarantined):
		return "service " + begins + "s by itself when the quarantine is over"
	case leased != "" && errors.Is(cause, coord.ErrNoWorkerID):
	case coord.Permanent(cause), errors.Is(cause, keeper.ErrBehind), errors.As(cause, &file),
		errors.As(cause, &link):
		return "service " + begins + "s by itself once that is corrected"
	}
	if errors.Is(cause, keeper.ErrLate) {
		return "service " + begins + "s by itself once the coordinator answers sooner; a " +
			"longer Horizon bridges more"
	}
	if leased != "" {
		return "service " + begins + "s by itself " + leased
	}
	return "service " + begins + "s by itself once the coordinator answers; check that it is up " +
		"and reachable"
}

// Unwrap returns [ErrWindowEnded] and the cause.
func (e *WindowEndedError) Unwrap() []error {
	if e.Cause == nil {
		return []error{ErrWindowEnded}
	}
	return []error{ErrWindowEnded, e.Cause}
}

// stamp prints a time for an error message, to the millisecond and in UTC.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// invalid returns an error that wraps [ErrInvalidConfig].
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInvalidConfig, fmt.Errorf(format, args...))
}
