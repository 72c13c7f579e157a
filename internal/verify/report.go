package verify

import (
	"time"

	"github.com/unalike-id/unalike/core"
)

// Report is what was found. Programs read it as JSON, in which the command writes Clashes and
// Workers in another form.
type Report struct {
	IDs        int64 `json:"ids"`        // that were read
	Duplicates int64 `json:"duplicates"` // IDs that occur more than once
	Extra      int64 `json:"extra"`      // how often duplicates occur beyond the first time
	// Outside counts the IDs that the layout cannot hold, or whose worker IDs are not allowed, Early
	// those stamped before the earliest possible time, and TooLate those after the latest.
	Outside int64 `json:"outside"`
	Early   int64 `json:"early"`
	TooLate int64 `json:"late"`
	// NeverGranted counts the IDs of worker IDs that the coordinator has never granted, and
	// AfterWindow those stamped after the last window of their worker ID.
	NeverGranted int64 `json:"never_granted"`
	AfterWindow  int64 `json:"after_window"`
	Unreadable   int64 `json:"unreadable"` // lines that hold no ID
	// OutOfOrder counts the IDs that follow a larger one of the same worker ID in the same source.
	OutOfOrder int64 `json:"out_of_order"`
	// Unattributed counts the IDs of worker IDs that are not in Workers, because there are too many.
	// The order of these is unknown.
	Unattributed int64 `json:"unattributed"`

	Workers  []Worker  `json:"-"`        // in ascending order
	Examples []Example `json:"examples"` // not nil
	Clashes  []Clash   `json:"-"`        // the first duplicates, in ascending order
	Causes   []Cause   `json:"causes"`   // not nil
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
	WorkerID    int       `json:"worker_id"`
	IDs         int64     `json:"ids"`
	First, Last time.Time `json:"-"` // of the lowest and of the highest ID
	Duplicates  int64     `json:"duplicates"`
	OutOfOrder  int64     `json:"out_of_order"`
	Ungranted   int64     `json:"ungranted"` // IDs for which the coordinator had not granted it
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
