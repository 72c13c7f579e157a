package protocol

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/invalid"
	"github.com/unalike-id/unalike/internal/lifetime"
)

// Store is what a back end can do for one namespace. It decides nothing: what to write
// and what an answer means is up to [Coordinator]. Package filestore is an
// example, and package storetest holds a store to what is said here.
//
// A store keeps:
//   - the namespace's record: [Meta];
//   - a slot for each worker ID that was ever granted or retired: [Slot]. It is never deleted;
//   - an owner mark for each worker ID that is held or retired. That of a holder is on a
//     lease, and is deleted when the lease ends; that of a retired worker ID stays. It has
//     the value [MarkOf] where the back end has no clock, and any value where it has one;
//   - what leads from the token of a holder to its worker ID: a mark of its own, which comes
//     and goes with the owner mark, or the owner mark itself if that has the token;
//   - the worker ID that an identity had last, for one identity a worker ID at the most, see
//     [Change.Identities];
//   - if the back end has lineages, the one in which the namespace was settled last.
//
// Records are stored as [Encode] returns them and read with [Decode].
//
// That a namespace or a slot is not there is no error: its [Entry] is zero then. Errors
// wrap [coord.ErrInvalid] if trying again cannot help, and say which record is damaged:
// one that Decode refuses, a slot that names another worker ID than its place, a namespace
// of which slots or owner marks are there and the record is not. After any error of
// [Session.Commit] the coordinator takes the outcome to be unknown, and looks.
//
// A store has no method to close it. [Coordinator.Close] ends the contexts of all calls, but
// no session; what these have in the background ends with [Coordinator.Life], and the client
// is closed by whoever made it.
type Store interface {
	// Open returns a new session for the holder with a token, or for an operator if the
	// token is empty. An operator needs no lease, so that it does not matter if the back end
	// cannot keep one for ttl; who comes with a grant that does not say how long its lease
	// lasts begins as an operator. Open does not block and makes no call to the coordinator, because
	// that holds a lock meanwhile. The lease of the session, once there is one, lasts ttl after its
	// last sign of life. A token gets another session after its first is over, while the owner mark of
	// the first may still stand, and in another process after a restart.
	//
	// Workers is how many worker IDs an answer may have to list, for a client that limits
	// the size of answers; 0: it is not known. It is a hint.
	Open(token string, ttl time.Duration, workers int) (Session, error)
}

// Session is what one token has in the back end: a connection, a lease, or both. It holds
// at most one worker ID at a time. Its methods are safe for concurrent use, and those with
// a ctx return promptly when that ends. The others do not block.
type Session interface {
	// Survey looks at the namespace, in one consistent look. A namespace that is not
	// there is made with ask.New, if that is not nil. Several that survey at once make one.
	Survey(ctx context.Context, ask Ask) (*Survey, error)
	// Look reads the namespace's record, one slot, its owner mark, and whether the token
	// leads to it, in one consistent look. A store whose [Session.Commit] need not know the
	// last of these ignores the token; it is empty if an operator looks.
	Look(ctx context.Context, worker int, token string) (*View, error)
	// Probe reads slots, in the order of the worker IDs; each may be as it was at another
	// moment of the call. A slot that cannot be read has an error of its own. As a grant
	// follows, the session may get its lease meanwhile.
	Probe(ctx context.Context, workers []int) ([]Probe, error)
	// Commit makes a change in one atomic step, if what is stored is as the change says:
	// see [Change]. It is a sign of life of the lease that [Session.Holds] speaks of.
	Commit(ctx context.Context, change Change) (Outcome, error)
	// Leases returns when leases end unless they are renewed, of as many of the holders
	// as can be asked, from the first on. What cannot be learned is left out; errors are
	// not reported, because an error message is all that the answer is for.
	Leases(ctx context.Context, holders []Holder) []Lease
	// List reads the namespace's record, and with it all slots and owner marks if asked to;
	// otherwise it may leave them out. It writes nothing, and makes no namespace.
	List(ctx context.Context, slots bool) (*Listing, error)
	// Watch blocks until the owner mark that a view shows seems to be gone, and returns true;
	// at once if the view shows none. It returns false if ctx ends before, or if it cannot go
	// on watching. True is a hint, which the holder answers with a renewal: it may come late,
	// and may be wrong.
	Watch(ctx context.Context, v *View) bool
	// Holds reports whether a change with [OwnerStays] in this session keeps the owner mark
	// of a view alive. If not, a renewal puts the mark on the lease of this session, with
	// [OwnerTaken]. It is false if the view shows no owner mark, and makes no call.
	Holds(v *View) bool
	// Time returns what the back end's clock says now: not less than Low and not more than High. It
	// rests on the answer to the newest request, see [ServerClock]. It is the zero Span if the
	// back end has no clock, see Settings.ServerClock, or this session has not learned it yet, which
	// Survey and Look do.
	Time() Span
	// Over returns why the session has ended, so that another one is opened for its token;
	// nil: it lives. If trying again cannot help, see [coord.Permanent], the call ends.
	Over() error
	// End ends the session and the lease, in the background; Over returns an error from
	// then on. A lease with which something may have been granted is left to end by itself,
	// also if that is only possible because the answer to a Commit was lost. End may be
	// called more than once, and while other calls are under way.
	End()
}

// FreeWatcher is implemented by sessions whose back end reports when an owner mark goes.
type FreeWatcher interface {
	// WatchFree blocks until a worker ID of the share may have no owner mark, and returns true. It
	// returns false if ctx ends before, or if it cannot go on watching. It writes nothing.
	WatchFree(ctx context.Context, share coord.Range) bool
}

// Rester is implemented by stores that keep connections of which a server has few, or that may lead
// to several servers.
type Rester interface {
	// Rest closes the connections after the calls that use them. The next call opens one. Rest does
	// not block. The coordinator calls it after each call that leaves it without a worker ID, and when
	// a loss was noticed.
	Rest()
}

// Checker is implemented by sessions that can tell whether their servers belong together.
type Checker interface {
	// CheckLineages returns an error that wraps [coord.ErrInvalid] if the servers that the
	// session may talk to have different lineages.
	CheckLineages(ctx context.Context) error
}

// ErrUnrecorded is the error of a survey that may not make the namespace's record, which is gone
// while slots of it are there.
var ErrUnrecorded = invalid.Errorf("no record of the namespace")

// Entry is a record as it is stored. The zero Entry is one that is not there.
type Entry[R Record] struct {
	Record R `json:"record"`
	// Raw is the stored value; nil: it is not known. Versions come again after a loss of
	// writes, so a store that can lose them compares values as well.
	Raw []byte `json:"-"`
	// Made and Version count, in the back end's own way, when the record was made and
	// when it was written last. Made is 0 if there is no record, and [MadeUnknown] if
	// that is not known. Version grows with every write of the record, and may be 0 after
	// the first one. Where the back end has no clock, a slot's Version is the
	// Position.Number of the write, as Holder.Changed is, because they are compared.
	Made    int64 `json:"made"`
	Version int64 `json:"version"`
}

// MadeUnknown stands for the number of a record that was made just now, where the back
// end does not tell it.
const MadeUnknown = -1

// There reports whether there is a record.
func (e Entry[R]) There() bool { return e.Made != 0 }

// Next returns what replaces the entry in the write with a number, where versions are such numbers.
func (e Entry[R]) Next(r R, number int64) Entry[R] {
	return Entry[R]{Record: r, Made: cmp.Or(e.Made, number), Version: number}
}

// Same reports whether an entry is the one that was read, by its record too. Raw is not compared,
// and R is comparable.
func (e Entry[R]) Same(was Entry[R]) bool {
	return e.Made == was.Made && e.Version == was.Version && any(e.Record) == any(was.Record)
}

// Position is what an answer tells of the history of the back end. It is how a loss of
// writes is noticed. The zero Position tells nothing.
type Position struct {
	// Lineage names the history: the ID of a cluster. Empty: the back end has none.
	Lineage string
	// Number counts writes and never falls; 0: not known. One that is lower than in an
	// answer to an earlier request proves a loss.
	Number int64
	// Wrote reports whether Number is that of a write which this request has made: it is
	// higher than in all answers to earlier requests, and one that is not proves a loss.
	Wrote bool
	// Server is what the back end's clock said when it had made the answer, and both ends of what
	// that can have been if it is rounded; zero: it has none, or the answer does not tell.
	Server Span
}

// View is what is stored of a worker ID. The handle of a grant is a view: it saves
// looking, and nothing is decided on it, because every change compares it with what is
// stored. A view is not changed once others have it.
type View struct {
	Position
	Meta  Entry[Meta]
	Slot  Entry[Slot]
	Owned bool // there is an owner mark: a holder's, or that of a retired worker ID
	// Origin is the lineage on record in the namespace, as [Survey.Origin] is; empty: there
	// is none, or it was not read.
	Origin string
	// Lease is what the store knows of the owner mark. Nobody else reads it, and it is nil
	// in a view that the coordinator has made.
	Lease any
	// Kept reports that Meta was not read: it is that of the change which this is the outcome
	// of, in a store that changes one record at a time, and knows in another way that no change
	// of the namespace's record was complete between.
	Kept bool

	losses int64   // that were noticed before it was asked for
	extent *extent // of the grant that comes with it
}

// Ask says what a survey is to read. The zero Ask is that of an operator.
type Ask struct {
	// Token is that of an acquisition; empty: an operator's survey.
	Token string
	// Identity is whose last worker ID is read; empty: nobody's.
	Identity string
	// Share is the worker IDs whose owner marks are read; the zero Range: all. Its Count is
	// 0 only then.
	Share coord.Range
	// New returns the record of a namespace that has to be made at a time of the back end's
	// clock: Low is what it has said, and High what it says at most when the record is stored. The
	// zero Span: it has none. Nil: none is made. If it is nil
	// although there is a token, the survey looks what became of a grant, and need draw no
	// Ticket. The record may begin with the floor of a loss, see Settings.Forgets; a store
	// whose back end has lineages notes the lineage with it then, as with Change.NoteLineage.
	New func(at Span) Meta
	// Again returns the record of a namespace that is not there although the back end shows that
	// it was: it begins with the floor of a loss. Known is the rest of the earlier record, as far
	// as the back end still has it; its Fingerprint is not empty. The coordinator sets Again where
	// New is set, and for an acquisition that may make no new namespace. A store that finds nothing
	// of a deleted namespace does not use it.
	Again func(at Span, known Meta) Meta
	// Peek says that the survey writes nothing, draws no ticket and confirms nothing: it may be old,
	// and no loss is noticed by it. New, Again and Token are not set then.
	Peek bool
}

// Survey is what one look at a namespace tells.
type Survey struct {
	Position
	Meta   Entry[Meta] // not there: nor is the namespace, and nothing else is known
	Made   bool        // by this survey
	Origin string      // the lineage on record in the namespace; empty: none
	// Slots is above 0 if there is any slot or owner mark. It counts for operators only.
	Slots  int
	Worker int // what the token holds already: where it leads to; -1: nothing
	// Restarted is by when a back end had started that may have come back with an old copy of its
	// data unnoticed, by its own clock, in microseconds since 1970: grants begin above all windows
	// that can have been open then. 0: there is no need for that.
	Restarted int64
	Last      int // what the identity had last, also outside of the share; -1: nothing
	// LastSlot is the slot of Last, where the store has read it: that saves a Probe.
	LastSlot Entry[Slot]
	// Owned are the worker IDs of the share that have an owner mark, in ascending order:
	// those that are held, by this token too, and those that are retired.
	Owned []int
	// Barred are the worker IDs of the share, in ascending order, that nobody has and that cannot be
	// granted now; Why says what keeps them from it. Both are nil if there are none.
	Barred []int
	Why    error
	// Ticket numbers the surveys that acquisitions make, if possible without gaps: those that
	// start at the same time begin their search at different worker IDs by it. 0: there is none,
	// and each begins at a random one.
	Ticket int64
	// Preferred are the worker IDs of the share that cost less to grant than the others, in
	// ascending order: the search begins at one of them. Nil: all cost the same.
	Preferred []int
	// Others returns the names of other namespaces of the back end. It may leave some out, and
	// returns none if it may not read them. The coordinator calls it once, if the survey has made
	// the namespace, and while other calls are in flight. Nil: the back end has no cheap list.
	Others func(context.Context) []string
	// Retired is how many of Owned are retired, and Holders, in any order, who holds the
	// others. Where owner marks do not tell, Retired is 0 and Holders are all.
	Retired int
	Holders []Holder

	losses       int64     // as in a View
	began, ended time.Time // monotonic
}

// timed reports whether the back end has a clock. If it has none, the clocks of the holders are
// compared.
func (sv *Survey) timed() bool { return sv.Server != Span{} }

// during is the span of a clock, which says now, while a survey was made. As the clock may
// have been set since, its readings of that time do not count.
func (sv *Survey) during(now int64) Span {
	mono := lifetime.Now()
	return Span{now - mono.Sub(sv.began).Microseconds(), now - mono.Sub(sv.ended).Microseconds()}
}

// Holder is somebody who holds a worker ID.
type Holder struct {
	Worker int
	// Changed is the Position.Number of the last renewal, or when the lease ends if the back end has
	// a clock; 0: not known. It tells whose lease ends first and, where the back end has no clock,
	// who has renewed since a survey.
	Changed int64
	// Mark reads what the owner mark says; nil: it says nothing, because the back end has
	// a clock.
	Mark  func() (Mark, error)
	Lease any // what the store knows of the lease, for [Session.Leases]
}

// Mark is what an owner mark says, where the back end has no clock: others compare their
// clocks with it.
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

// Pointer is what a store may keep for a token or an identity: the worker ID to which it
// leads.
type Pointer struct {
	Version int `json:"version"`
	Worker  int `json:"worker"`
}

// PointerTo returns what leads to a worker ID.
func PointerTo(worker int) Pointer { return Pointer{Version: Version, Worker: worker} }

// Check implements [Record].
func (Pointer) Check() error { return nil }

// Lease says when a lease ends unless it is renewed.
type Lease struct {
	Worker  int
	Renewed int64         // the holder's clock at the last renewal, as its slot or owner mark has it
	TTL     time.Duration // that the holder asked for, from the same place
	Left    time.Duration // negative: the back end does not tell; Renewed and TTL have to do
	Retired bool          // it is none, and never ends: a holder of a survey that did not tell
}

// Probe is the slot of a worker ID that had no owner mark in the survey before.
type Probe struct {
	Slot Entry[Slot] // zero: it was never granted
	Err  error       // why it cannot be read
}

// Listing is what is stored of a namespace.
type Listing struct {
	Position
	Meta       Entry[Meta]
	Slots      []Slot  // in ascending order
	Owned      []int   // which worker IDs have an owner mark, in ascending order
	Unreadable []error // one for each record that cannot be read
}

// Owner says what becomes of the owner mark of a worker ID.
type Owner int

// What becomes of an owner mark.
const (
	// OwnerStays leaves it as it is. If Slot is stored too, this is a renewal: the lease
	// of the owner mark is kept alive, and a mark that has a value gets that of the slot.
	OwnerStays Owner = iota
	// OwnerTaken puts it on this session's lease, in place of the one that may be there.
	// Token leads to the worker ID then. Slot is stored too.
	OwnerTaken
	OwnerFreed   // it is deleted, and Token leads nowhere
	OwnerForever // it is put there without a lease, in place of the one that may be there
)

// Change is one atomic step about a worker ID, see [Change.Worker], or the namespace alone.
//
// It is done only if what is stored is as Before says: the same record of the namespace,
// and for a worker ID the same slot, and an owner mark if there was one and none if not.
// Before is not nil. An entry that is zero in it must not be there. The coordinator may
// have made it from a survey and a probe: then it shows no owner mark, and its Lease is
// nil. Or it comes with a grant, and is old.
type Change struct {
	Before *View
	Meta   *Meta // to store; nil: it stays
	Slot   *Slot // to store; nil: it stays
	Owner  Owner
	// Token belongs to OwnerTaken and OwnerFreed. It is that of the session, or, with
	// OwnerFreed, of a grant that is given back in an operator's. With OwnerTaken it must not
	// lead to any worker ID yet, unless it is Replaced itself.
	Token string
	// Replaced is the token that leads to the worker ID no longer with OwnerTaken, where it
	// still does. It is Token if a renewal puts back an owner mark, another one if a grant is
	// resumed, and empty for a new grant.
	Replaced string
	Unused   bool // it is done only if the namespace has no slot and no owner mark
	// NoteLineage says that the lineage is noted in the namespace, if the back end has any. Before
	// tells then by which answer that was decided, with Position.Lineage: a store that can tell in
	// the step that writes refuses it with ConflictElsewhere if the lineage is another one by now,
	// or if the back end's clock is past Deadline, in microseconds since 1970. The floor that comes
	// with it is for the windows that can be lost until then.
	NoteLineage bool
	Deadline    int64
}

// Worker returns the worker ID that a change is about, which a stored slot names; -1: the
// namespace alone.
func (c *Change) Worker() int {
	switch {
	case c.Slot != nil:
		return c.Slot.Worker
	case c.Before.Slot.There():
		return c.Before.Slot.Record.Worker
	}
	return -1
}

// Identities returns the identity that a new grant makes the last one of the worker ID, and
// the one that was so before if it is another: what leads from that one to this worker ID
// goes with the same step, so that what is stored does not grow with every new identity.
// Empty: there is none, or the change is no new grant.
func (c *Change) Identities() (now, before string) {
	if c.Owner != OwnerTaken || c.Replaced != "" {
		return "", ""
	}
	now, before = c.Slot.Identity, c.Before.Slot.Record.Identity
	if before == now {
		before = ""
	}
	return now, before
}

// Outcome says what became of a change: it is done, or was refused because what is stored
// is not as the change said. Both are certain. Where that is not known, Commit returns an
// error.
type Outcome struct {
	Position // that of Now may be zero
	Done     bool
	// Now is what is stored: with Done, always; else where the store has read it.
	Now *View
	// Conflict says, if it is not done, what is not as Before said.
	Conflict Conflict
	// Damage is the error if what is stored may be as Before said all the same: something
	// else has changed what belongs to it, which trying again does not cure. It counts if
	// the same change is refused twice. A store that compares nothing else has none.
	Damage error
	// Repeated reports that the change was sent more than once, by a client that tries
	// again itself: if it is not done, it may have been done the first time.
	Repeated bool
	// Lapsed reports that it is done, but the lease was over, which the store learned only
	// afterwards: the coordinator puts the owner mark back. A store that sees before it
	// writes that the owner mark is gone refuses the change with ConflictSlot. A store that changes
	// one record at a time reads the namespace's record after the slot is written, and reports it
	// too if that is not as the change said: what was granted or extended is not used then, before
	// it was looked at again.
	Lapsed bool
}

// Conflict is what keeps a change from being done.
type Conflict int

// What was not as a change said.
const (
	// ConflictElsewhere is the namespace's record, where a token leads to, the session's
	// lease, or that the namespace is not unused. The call begins again with a survey.
	ConflictElsewhere Conflict = iota
	// ConflictSlot is the slot or its owner mark, where all of that is as it should be. An
	// acquisition goes on with the next candidate.
	ConflictSlot
)
