package coord

import (
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
