package coord

import (
	"context"
	"time"
)

// AdminCoordinator is a [Coordinator] whose namespace an operator can see and change. All
// drivers of this module return one; one without a namespace to change returns errors that say so.
// Errors of the methods that follow Describe wrap [ErrInvalid] if what was asked for is refused;
// after any other error the outcome is unknown, and asking again is safe. They block for as long
// as the back end needs.
type AdminCoordinator interface {
	// These four are the methods of a [Coordinator].
	Acquire(ctx context.Context, req Request) (Grant, error)
	Renew(ctx context.Context, g Grant, until int64) (Grant, error)
	Release(ctx context.Context, g Grant, last int64) error
	Close() error

	// Describe returns what the coordinator reports about itself. It does not block, and the caller
	// may keep the result.
	Describe() Description

	// List returns the slots of all worker IDs that were ever granted or retired, in
	// the order of worker IDs, at one moment. A slot that cannot be read is left out
	// and described in the error; the others are returned all the same. A namespace
	// without slots gives none, and no error. List blocks for as long as the back end
	// needs, and changes nothing.
	List(ctx context.Context) ([]Slot, error)

	// Inspect returns what is stored for the namespace. It blocks for as long as the
	// back end needs, and changes nothing.
	Inspect(ctx context.Context) (Namespace, error)

	// Init declares the namespace to be new: nobody has ever been granted a worker ID
	// in it, or whatever was granted is past. It stores the layout, and it ends a
	// quarantine that only protects against what a lost namespace may have granted. It
	// never lowers a floor that was raised, nor one with which a namespace begins because the
	// back end shows that it was there before.
	// Init is refused where there are slots, and where the namespace was declared with
	// another MaxHorizon. Where it has another layout, the error is a
	// [*LayoutMismatchError].
	Init(ctx context.Context, s Space) error

	// Quarantine raises the floor of the namespace, so that nothing is granted or
	// extended below it, to the tick that the given time lies in, and returns the
	// floor that holds then. The floor is never lowered: an earlier time changes
	// nothing. The zero time means as long as windows that the back end has forgotten
	// can reach: now + MaxHorizon + skew bound. Holders go on inside the windows they
	// have. The namespace must exist, see Init. Package follow makes one namespace go on
	// where another one has ended.
	Quarantine(ctx context.Context, until time.Time) (floor time.Time, err error)

	// Retire takes a worker ID out of use for ever: because a wrong clock has pushed
	// its window far into the future, for example. Whoever holds it loses it with the
	// next renewal. What it has issued stays valid. Retiring twice is no error.
	Retire(ctx context.Context, workerID int) error

	// Lower is the way out after a wrong clock has raised a floor too far: where that is safe,
	// it lowers a floor that reaches further than windows that the back end has
	// forgotten can reach by now, which is now + MaxHorizon + skew bound, to that tick,
	// and returns the floor that holds then. A floor that is lower already stays. The
	// floor is never lowered below a time that somebody has passed to Quarantine: only
	// they know what it protects. Errors wrap [ErrInvalid] if what was asked for is
	// refused, and are [ErrNamespaceClosed] if the namespace is closed; after any other
	// error the outcome is unknown, and asking again is safe. Lower blocks for as long
	// as the back end needs. Errors also include [ErrClockSkew]: the clock of whoever
	// lowers a floor is compared with the back end's, or with the holders'.
	Lower(ctx context.Context) (floor time.Time, err error)
}
