package verify

import (
	"time"

	"github.com/unalike-id/unalike/core"
)

// Report is what was found.
type Report struct {
	IDs        int64 `json:"ids"`        // that were read
	Unreadable int64 `json:"unreadable"` // lines that are none
	// Duplicates counts the IDs that occur more than once, and Extra how often they do
	// beyond the first time.
	Duplicates int64 `json:"duplicates"`
	Extra      int64 `json:"extra"`
	Outside    int64 `json:"outside"`      // IDs that the layout cannot have made, or with worker IDs beyond those allowed
	Early      int64 `json:"early"`        // stamped before the earliest possible time
	Late       int64 `json:"late"`         // stamped after the latest possible time
	OutOfOrder int64 `json:"out_of_order"` // IDs that follow a larger one of the same worker ID

	Workers  []Worker  `json:"workers"` // in ascending order
	Examples []Example `json:"examples"`
	Clashes  []Clash   `json:"clashes"` // the first duplicates, in ascending order
	Causes   []Cause   `json:"causes"`
}

// Sound reports whether nothing is wrong. Order counts only if it is to.
func (r *Report) Sound(ordered bool) bool {
	return r.Unreadable == 0 && r.Duplicates == 0 && r.Outside == 0 && r.Early == 0 && r.Late == 0 && (!ordered || r.OutOfOrder == 0)
}

// Example is something that was found, and where.
type Example struct {
	Kind string `json:"kind"` // unreadable, outside, early, late, out of order
	Place
	Text string `json:"text"` // what is wrong
}

// Worker is what the IDs of one worker ID tell.
type Worker struct {
	WorkerID   int       `json:"worker_id"`
	IDs        int64     `json:"ids"`
	First      time.Time `json:"first"` // of the earliest and of the latest tick
	Last       time.Time `json:"last"`
	MostATick  int64     `json:"most_a_tick"` // different IDs
	PerSecond  float64   `json:"per_second"`  // between the first and the last
	Duplicates int64     `json:"duplicates"`
	OutOfOrder int64     `json:"out_of_order"`
}

// Clash is an ID that occurs more than once.
type Clash struct {
	ID       core.ID   `json:"id"`
	Time     time.Time `json:"time"`
	WorkerID int       `json:"worker_id"`
	Sequence int       `json:"sequence"`
	Times    int64     `json:"times"`
	Places   []Place   `json:"places,omitempty"` // the first; none if the source cannot be read twice
}

// Cause is what may have made the duplicates of a worker ID, and why it fits.
type Cause struct {
	WorkerID int    `json:"worker_id"`
	Kind     string `json:"cause"`
	Why      string `json:"why"`
}
