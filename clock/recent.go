package clock

import "sync/atomic"

const (
	// recentCycles is for how long a reading of the clock is used again: some 10 us
	// at the rates at which counters run, and 33 us at 1 GHz, which is the slowest.
	recentCycles = 1 << 15

	// Values of recent.at that are no counts. A counter is past them within a
	// nanosecond of the machine's start.
	never   = 0 // nothing has been stored
	storing = 1 // somebody is storing
)

// recent is a reading of the clock with the count of a counter that was taken
// just before it. Who has a newer count knows how old the reading is, without
// reading the clock. It is a sequence lock: the count is the version of the
// reading.
type recent struct {
	_     [64]byte
	at    atomic.Uint64 // the count; or never, or storing
	micro atomic.Int64  // the reading, microseconds since 1970
	_     [64]byte
}

// load returns the reading if it was taken less than recentCycles before the
// count now. A count that lies before the reading's is none of the same clock, or
// of one that was reset: then there is no recent reading either.
func (r *recent) load(now func() uint64) (micro int64, ok bool) {
	at := r.at.Load()
	micro = r.micro.Load()
	return micro, now()-at < recentCycles && r.at.Load() == at //mutant:recent-reading
}

// take takes a reading and stores it. The count is taken first, so that the reading
// is never older than it seems.
func (r *recent) take(count func() uint64, read func() int64) (micro int64) {
	at := count()
	micro = read()
	r.store(at, micro)
	return micro
}

// store puts a reading in place of the one that is there, unless somebody else is
// doing that: then theirs is as good.
func (r *recent) store(at uint64, micro int64) {
	old := r.at.Load()
	if old == storing || !r.at.CompareAndSwap(old, storing) {
		return
	}
	r.micro.Store(micro)
	r.at.Store(at)
}
