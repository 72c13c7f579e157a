package verify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// What may have made two equal IDs.
const (
	// CauseLayouts: the IDs were made with different layouts, or epochs.
	CauseLayouts = "different layouts"
	// CauseTwice: two generators had the worker ID at the same time.
	CauseTwice = "same worker ID twice"
	// CauseClock: the clock of a generator was stepped back, and it went on.
	CauseClock = "clock stepped back"
	// CauseRestart: a generator whose IDs were ahead of its clock ended, and the next one
	// began at the clock.
	CauseRestart = "restart after a burst"
	// CauseCopied: the IDs were not made twice but written down twice.
	CauseCopied = "copied"
)

// burst is how far a generator may be ahead of its clock, most likely: a few seconds of
// sequence numbers that it had borrowed.
const burst = 10 * time.Second

// finish completes what is known of the worker IDs, and says what fits.
func (c *check) finish() {
	for _, id := range slices.Sorted(maps.Keys(c.workers)) {
		w := c.workers[id]
		if w.IDs == 0 {
			continue
		}
		w.First, w.Last = c.timeOf(w.first), c.timeOf(w.last)
		if d := w.Last.Sub(w.First).Seconds(); d > 0 {
			w.PerSecond = float64(w.IDs) / d
		}
		c.report.Workers = append(c.report.Workers, w.Worker)
		if w.Duplicates > 0 {
			c.report.Causes = append(c.report.Causes, c.causes(w)...)
		}
	}
}

// causes says what may have made the duplicates of a worker ID.
func (c *check) causes(w *worker) []Cause {
	var out []Cause
	fits := func(kind, format string, args ...any) {
		out = append(out, Cause{w.WorkerID, kind, fmt.Sprintf(format, args...)})
	}
	if n := c.report.Outside + c.report.Early + c.report.Late; n > 0 {
		fits(CauseLayouts, "%d of the IDs cannot have been made with this layout at a possible time", n)
	}
	if w.Duplicates == w.IDs-w.Duplicates && w.IDs > 2 {
		fits(CauseCopied, "every ID of worker ID %d is there twice", w.WorkerID)
	}
	covering := slices.DeleteFunc(slices.Clone(w.steps), func(s step) bool { return s.to > w.dupLast || s.from < w.dupFirst })
	if len(covering) == 0 {
		fits(CauseTwice, "the IDs of worker ID %d are in ascending order, so that nothing tells when each was made; export them in the order in which they were stored to learn more", w.WorkerID)
		return out
	}
	if w.OutOfOrder >= manySteps {
		fits(CauseTwice, "the IDs of worker ID %d go back %d times between %s and %s: those of two generators are mixed", w.WorkerID, w.OutOfOrder, c.stamp(w.dupFirst), c.stamp(w.dupLast))
		return out
	}
	far := slices.MaxFunc(covering, func(a, b step) int { return cmp.Compare(a.from-a.to, b.from-b.to) })
	back := c.timeOf(far.from).Sub(c.timeOf(far.to))
	if back <= burst && far.to&(1<<c.Layout.SequenceBits-1) == 0 {
		fits(CauseRestart, "at %v the IDs of worker ID %d go back by %v and begin with sequence number 0: the generator before was ahead of its clock by that", far.Place, w.WorkerID, back)
	}
	fits(CauseClock, "at %v the IDs of worker ID %d go back by %v, from %s to %s, and the duplicates lie between", far.Place, w.WorkerID, back, c.stamp(far.from), c.stamp(far.to))
	fits(CauseTwice, "another generator with worker ID %d may have begun at %v", w.WorkerID, far.Place)
	return out
}

func (c *check) stamp(v uint64) string { return c.timeOf(v).Format(time.RFC3339Nano) }
