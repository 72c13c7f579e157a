package coord

import (
	"context"
	"time"

	"github.com/unalike-id/unalike/clock"
)

// Slot is what a back end has stored for one worker ID, as an operator wants to
// see it. Times are those of the machine that wrote them; the zero time means that
// the back end does not store it.
type Slot struct {
	WorkerID   int
	State      SlotState
	Layout     string // the fingerprint that it was granted with; empty: not stored
	Holder     string // who holds it, or held it last: host and process
	Identity   string // of the holder, or of the last one; empty: none
	Generation uint64
	NotBefore  int64         // the window (NotBefore, NotAfter] that is stored, in ticks
	NotAfter   int64         //
	Until      time.Time     // when tick NotAfter ends
	Since      time.Time     // when the holder, or the last one, acquired it
	Renewed    time.Time     // its last renewal
	TTL        time.Duration // how long its lease outlives that; 0: not stored
}

// SlotState tells whether a worker ID can be had.
type SlotState int

// The states of a slot.
const (
	SlotFree    SlotState = iota // nobody holds it; its next window begins at NotAfter or above
	SlotHeld                     // its lease is alive
	SlotRetired                  // it is never granted again
)

// String returns "free", "held" or "retired".
func (s SlotState) String() string {
	switch s {
	case SlotFree:
		return "free"
	case SlotHeld:
		return "held"
	case SlotRetired:
		return "retired"
	}
	return "unknown"
}

// Namespace is what a back end has stored for a namespace as a whole.
type Namespace struct {
	Layout string    // the fingerprint; empty: there is no such namespace
	Floor  time.Time // nothing is granted or extended below it; zero: it was never raised
	// Base is the highest floor that was asked for with a time, which is never lowered: by
	// an operator, or by a move from another namespace; zero: none was.
	Base   time.Time
	Closed bool // another namespace follows it, see package follow: nothing is granted any more
	// Lost is how far windows reach that the back end has forgotten, as far as it has
	// noticed; zero: it has noticed no loss. The floor of a namespace that is not closed is
	// never earlier.
	Lost time.Time
	// Nonce is a random name of the namespace: one that is made again, or of the same name in
	// another back end, has another one. Empty: there is no namespace, or it is not stored.
	Nonce string
	// MaxHorizon is the longest horizon that the namespace was declared with, see [Space];
	// 0: it has that of its driver.
	MaxHorizon time.Duration
}

// Space is what a namespace needs to know of its layout, and how far ahead its windows may
// reach. All fields but the last are those of [Request].
type Space struct {
	Fingerprint string
	Scale       clock.Scale
	LastTick    int64
	Capacity    int
	// MaxHorizon is the longest horizon of a holder that survives, see [Request], in whole
	// milliseconds: longer than that of the driver, see [LeaseRules], and at most its
	// MaxDeclared. 0: that of the driver. It is fixed when the namespace is declared: whatever
	// waits for windows that may be lost waits for as long.
	MaxHorizon time.Duration
}

// Admin is implemented by coordinators whose namespaces an operator can see and change.
// Errors wrap [ErrInvalid] if what was asked for is refused; after any other error
// the outcome is unknown, and asking again is safe. All methods block for as long
// as the back end needs.
type Admin interface {
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
