package verify

import (
	"time"

	"github.com/unalike-id/unalike/core"
)

// Report is what was found.
type Report struct {
	IDs        int64 // that were read
	Unreadable int64 // lines that hold no ID
	Duplicates int64 // IDs that occur more than once
	Extra      int64 // how often duplicates occur beyond the first time
	Outside    int64 // IDs that the layout cannot hold, or whose worker IDs are not allowed
	Early      int64 // IDs stamped before the earliest possible time
	TooLate    int64 // IDs stamped after the latest possible time
	OutOfOrder int64 // IDs that follow a larger one of the same worker ID in the same source
	// NeverGranted counts the IDs of worker IDs that the coordinator has never granted, and
	// AfterWindow those stamped after the last window of their worker ID.
	NeverGranted, AfterWindow int64
	// Unattributed counts the IDs of worker IDs that are not in Workers, because there are too many.
	// The order of these is unknown.
	Unattributed int64

	Workers  []Worker // in ascending order
	Examples []Example
	Clashes  []Clash // the first duplicates, in ascending order
	Causes   []Cause
}

// OK reports whether nothing is wrong. IDs out of order are wrong only if ordered is true.
func (r *Report) OK(ordered bool) bool {
	return r.Unreadable+r.Duplicates+r.Outside+r.Early+r.TooLate+r.NeverGranted+r.AfterWindow == 0 &&
		(!ordered || r.OutOfOrder == 0)
}

// Kinds of examples.
const (
	KindUnreadable   = "unreadable"
	KindOutside      = "outside"
	KindEarly        = "early"
	KindLate         = "late"
	KindOrder        = "out of order"
	KindNeverGranted = "never granted"
	KindAfterWindow  = "after the last window"
)

// Example is something wrong, and where it stands.
type Example struct {
	Kind  string `json:"kind"`
	Place        // zero: the source cannot be read twice
	Text  string `json:"text"` // what is wrong
}

// Worker is what the IDs of one worker ID show.
type Worker struct {
	WorkerID    int
	IDs         int64
	First, Last time.Time // of the lowest and of the highest ID
	Duplicates  int64
	OutOfOrder  int64
	Ungranted   int64 // IDs for which the coordinator had not granted it
}

// Clash is an ID that occurs more than once.
type Clash struct {
	ID     core.ID
	Parts  *core.Parts // nil: there is no layout, or the ID is outside of it
	Times  int64
	Places []Place // the first ones; none: the source cannot be read twice
}

// Cause is what may have caused the duplicates of a worker ID.
type Cause struct {
	WorkerID int    `json:"worker_id"`
	Kind     string `json:"cause"`
	Why      string `json:"why"` // what speaks for it
}
