package core

import "time"

// Parts is what an ID is made of.
type Parts struct {
	// Time is the start of the tick that the ID was stamped with, in UTC.
	Time time.Time
	// WorkerID is the worker ID, from 0 to Layout.Workers() - 1.
	WorkerID int
	// Sequence counts within the tick, from 0 to Layout.SequencesPerTick() - 1.
	Sequence int
}
