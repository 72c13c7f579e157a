package protocol

import (
	"context"
	"fmt"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// Store is what a back end can do for one namespace. It decides nothing: what to write
// and what an answer means is up to [Coordinator].
//
// Errors of the methods of a store wrap [coord.ErrInvalid] if trying again cannot help,
// because a record is damaged for example. After any other error of [Session.Commit] the
// outcome is unknown.
type Store interface {
	// Open returns a new session for the holder with a token, or for an operator if the
	// token is empty, without waiting for a connection. Its lease, once there is one,
	// lasts ttl after its last sign of life. Answers have room for so many worker IDs.
	Open(token string, ttl time.Duration, workers int) (Session, error)
}

// Session is what one token has in the back end: a connection, a lease, or both. Its
// methods are safe for concurrent use and return promptly when ctx ends.
type Session interface {
	// Survey looks at the namespace, in one consistent look. A namespace that is not
	// there is made with ask.New, if that is not nil.
	Survey(ctx context.Context, ask Ask) (*Survey, error)
	// Look reads the namespace's record, one slot, and what leads from a token to it, in
	// one consistent look.
	Look(ctx context.Context, worker int, token string) (*View, error)
	// Probe reads slots, in the order of the worker IDs. A slot that cannot be read has
	// an error of its own.
	Probe(ctx context.Context, workers []int) ([]Probe, error)
	// Commit makes a change in one atomic step, if what is stored is as the change says.
	Commit(ctx context.Context, change Change) (Outcome, error)
	// Leases returns when leases end unless they are renewed, of as many of the holders
	// as can be asked, from the first on. What cannot be learned is left out.
	Leases(ctx context.Context, holders []Holder) []Lease
	// List reads the namespace's record, and all slots if asked to. It writes nothing.
	List(ctx context.Context, slots bool) (*Listing, error)
	// Watch blocks until the lease that a view shows seems to be gone, and returns true;
	// false if ctx or the session has ended before.
	Watch(ctx context.Context, v *View) bool
	// Holds reports whether the owner mark of a view is one that this session keeps.
	Holds(v *View) bool
	// Time returns the back end's clock as of now, in microseconds since 1970; 0 if it
	// has none or this session has not learned it yet.
	Time() int64
	// Over returns why the session has ended, so that another one is needed; nil: it
	// lives.
	Over() error
	// End ends the session and the lease, in the background. A lease with which something
	// may have been granted is left to end by itself.
	End()
}

// Entry is a record as it is stored.
type Entry[R Record] struct {
	Record R
	Raw    []byte // the stored value; nil: it is not known
	// Made and Version count, in the back end's own way, when the record was made and
	// when it was written last. Made is 0 if there is no record, and [MadeUnknown] if
	// that is not known.
	Made, Version int64
}

// MadeUnknown stands for the number of a record that was made just now, where the back
// end does not tell it.
const MadeUnknown = -1

// There reports whether there is a record.
func (e Entry[R]) There() bool { return e.Made != 0 }

// Position is what an answer tells of the history of the back end.
type Position struct {
	// Lineage names the history: the ID of a cluster. Empty: the back end has none.
	Lineage string
	// Number counts writes and never falls; 0: not known.
	Number int64
	// Wrote reports whether Number is that of a write which this request has made: it is
	// higher than all that were seen before.
	Wrote bool
	// Heard is a number that was heard of before the request, in an answer to nobody's
	// question such as a ping, and HeardAt when that was, monotonic; 0: none was.
	Heard   int64
	HeardAt time.Time
}

// View is what is stored of a worker ID. The handle of a grant is a view: it saves
// looking, and nothing is decided on it, because every change compares it with what is
// stored. A view is not changed once others have it.
type View struct {
	Position
	Meta  Entry[Meta]
	Slot  Entry[Slot]
	Owned bool // there is an owner mark: a holder's, or that of a retired worker ID
	Lease any  // what the store knows of the owner mark

	era  int64 // of the detector, before the look
	seen int64 // when it was read, microseconds since 1970
}

// Ask says what a survey is to read.
type Ask struct {
	// Token is that of an acquisition; empty: an operator's survey.
	Token, Identity string
	// Share is the worker IDs whose owners are read; the zero Range: all.
	Share coord.Range
	// New returns the record of a namespace that has to be made, given the back end's
	// clock in microseconds since 1970, 0 if it has none. Nil: none is made.
	New func(now int64) Meta
}

// Survey is what one look at a namespace tells.
type Survey struct {
	Position
	Meta   Entry[Meta]
	Made   bool   // by this survey
	Origin string // the lineage on record in the namespace; empty: none
	Slots  int    // how many slots there are, where that is known without reading them; only for operators
	Ticket int64  // the number that was drawn for this survey, from 0 on; -1: none was
	Worker int    // what the token holds already; -1: nothing
	Last   int    // what the identity had last; -1: nothing
	// LastSlot is the slot of Last, where the store has read it.
	LastSlot Entry[Slot]
	// Owned are the worker IDs of the share that cannot be had, in ascending order.
	Owned   []int
	Retired int      // how many of them are retired, where that is known
	Holders []Holder // who holds the others
	// Server is the back end's clock, in microseconds since 1970, and Unit what it is
	// rounded down to. 0: it has none, and the clocks of the holders are compared.
	Server, Unit int64

	era          int64
	began, ended time.Time // monotonic
}

// during is the span of a clock, which says now, while a survey was made. As the clock may
// have been set since, its readings of that time do not count.
func (sv *Survey) during(now int64) Span {
	mono := monotonic()
	return Span{now - mono.Sub(sv.began).Microseconds(), now - mono.Sub(sv.ended).Microseconds()}
}

// Holder is somebody who holds a worker ID.
type Holder struct {
	Worker  int
	Changed int64                // the number of the write of the last renewal; 0: not known
	Mark    func() (Mark, error) // reads what the owner mark says; nil: it says nothing
	Lease   any                  // what the store knows of the lease
}

// Mark is what an owner mark says, where the back end has no clock.
type Mark struct {
	Version int   `json:"version"`
	Renewed int64 `json:"renewed"` // the holder's clock at the last renewal, microseconds since 1970
	TTL     int64 `json:"ttl"`     // milliseconds; 0: retired
}

// MarkOf returns the owner mark of a slot; the zero Slot: of a worker ID that is retired.
func MarkOf(s Slot) Mark { return Mark{Version: Version, Renewed: s.Renewed, TTL: s.TTL} }

// Check implements [Record].
func (m Mark) Check() error {
	if m.TTL < 0 {
		return fmt.Errorf("ttl is %d ms; it is 0 or more", m.TTL)
	}
	return nil
}

// Lease is the TTL that the holder asked for.
func (m Mark) Lease() time.Duration { return time.Duration(m.TTL) * time.Millisecond }

// Lease says when a lease ends unless it is renewed.
type Lease struct {
	Worker  int
	Mark    string        // changes with each sign of life
	Renewed int64         // the holder's clock at the last renewal, microseconds since 1970
	TTL     time.Duration //
	Left    time.Duration // negative: the back end does not tell
	Retired bool          // it is none, and never ends
}

// Probe is a slot that nobody holds.
type Probe struct {
	Slot Entry[Slot]
	Err  error // why it cannot be read
}

// Listing is what is stored of a namespace.
type Listing struct {
	Position
	Meta       Entry[Meta]
	Slots      []Slot // in ascending order
	Owned      []int  // in ascending order
	Unreadable []error
}

// Owner says what becomes of the owner mark of a worker ID.
type Owner int

// What becomes of an owner mark.
const (
	OwnerStays   Owner = iota // as it is; if it is on this session's lease, that is kept alive
	OwnerTaken                // it is put on this session's lease, in place of the one that may be there
	OwnerFreed                // it is deleted
	OwnerForever              // it is put there without a lease
)

// Change is one atomic step. It is done only if what is stored is as Before says.
type Change struct {
	Before *View
	Meta   *Meta // to store; nil: it stays
	Slot   *Slot // to store; nil: it stays
	Owner  Owner
	Token  string // whose mark leads to the worker ID, with OwnerTaken and OwnerFreed
	// Replaced is the token whose mark goes with OwnerTaken; empty: none, and Token has
	// none yet.
	Replaced string
	// Identity is noted to have the worker ID; empty: none.
	Identity string
	Unused   bool // the namespace must have no slot and no owner
	Settle   bool // the lineage is noted in the namespace
}

// Worker returns the worker ID that a change is about; -1: the namespace alone.
func (c *Change) Worker() int {
	switch {
	case c.Slot != nil:
		return c.Slot.Worker
	case c.Before.Slot.There():
		return c.Before.Slot.Record.Worker
	}
	return -1
}

// Outcome says what became of a change.
type Outcome struct {
	Position
	Done bool
	// Now is what is stored: with Done, always; else where the store has read it.
	Now *View
	// Conflict says, if it is not done, what is not as Before said.
	Conflict Conflict
	// Damage is the error if what is stored is as Before said all the same: something
	// else has changed what belongs to it.
	Damage error
	// Repeated reports that the change was sent more than once: if it is not done, it may
	// have been done the first time.
	Repeated bool
	// Lapsed reports that it is done, but the lease is over: the owner mark has to be put
	// back.
	Lapsed bool
}

// Conflict is what keeps a change from being done.
type Conflict int

// What was not as a change said.
const (
	ConflictElsewhere Conflict = iota // the namespace, the token or the lease
	ConflictSlot                      // the slot or its owner
)
