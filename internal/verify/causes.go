package verify

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// What may have caused duplicates.
const (
	// CauseLayouts: the IDs were made with different layouts or epochs.
	CauseLayouts = "different layouts"
	// CauseTwice: two generators had the worker ID at the same time.
	CauseTwice = "same worker ID twice"
	// CauseClock: the clock of a generator was stepped back, and the generator went on.
	CauseClock = "clock stepped back"
	// CauseRestart: a generator whose IDs were ahead of its clock ended, and the next one began at the
	// clock.
	CauseRestart = "restart after a burst"
	// CauseCopied: the IDs were made once and written down twice.
	CauseCopied = "copied"
)

// longestBurst is how far ahead of its clock a generator is at most, most likely.
const longestBurst = 10 * time.Second

// finish adds the worker IDs to the report, and the causes that fit their duplicates.
func (c *check) finish() {
	for _, w := range c.all() {
		c.report.Workers = append(c.report.Workers, w.Worker)
		if w.Duplicates > 0 {
			c.report.Causes = append(c.report.Causes, c.causes(w)...)
		}
		if w.Ungranted > 0 {
			c.ungranted(w)
		}
	}
}

// ungranted adds to the report the IDs of a worker ID for which it was not granted.
func (c *check) ungranted(w *worker) {
	count, kind := &c.report.AfterWindow, KindAfterWindow
	what := fmt.Sprintf("the last window of worker ID %d ended at %s; later IDs", w.WorkerID,
		stamp(c.timeOfTick(w.end)))
	if w.end == 0 {
		count, kind = &c.report.NeverGranted, KindNeverGranted
		what = fmt.Sprintf("worker ID %d was never granted; its IDs", w.WorkerID)
	}
	*count += w.Ungranted
	c.example(kind, w.strayAt, func() string {
		return fmt.Sprintf("%s: %d, the first is %d, stamped at %s", what, w.Ungranted, w.stray,
			stamp(c.timeOf(w.stray)))
	})
}

// causes returns what may have caused the duplicates of a worker ID.
func (c *check) causes(w *worker) []Cause {
	var out []Cause
	fits := func(kind, format string, args ...any) {
		out = append(out, Cause{w.WorkerID, kind, fmt.Sprintf(format, args...)})
	}
	if n := c.report.Outside + c.report.Early + c.report.TooLate; n > 0 {
		fits(CauseLayouts, "%d of the IDs cannot have been made with this layout at a possible time", n)
	}
	if w.Duplicates == w.distinct && w.distinct > 1 {
		fits(CauseCopied, "every ID of worker ID %d occurs more than once", w.WorkerID)
	}
	// Only a step back across duplicates can have made them.
	across := slices.DeleteFunc(slices.Clone(w.steps), func(s step) bool {
		return s.to > w.dupLast || s.from < w.dupFirst
	})
	switch {
	case len(across) == 0:
		fits(CauseTwice, "the IDs of worker ID %d are in ascending order, which hides when each of them "+
			"was made; lines in the order in which they were stored show more", w.WorkerID)
	case w.OutOfOrder >= manySteps:
		fits(CauseTwice, "the IDs of worker ID %d go back %d times: those of two generators are mixed, "+
			"or IDs were not stored in the order in which they were made",
			w.WorkerID, w.OutOfOrder)
	default:
		c.causesOfStep(w, across, fits)
	}
	return out
}

// causesOfStep adds what the farthest step back can be.
func (c *check) causesOfStep(w *worker, across []step,
	fits func(kind, format string, args ...any),
) {
	far := slices.MaxFunc(across, func(a, b step) int { return cmp.Compare(a.from-a.to, b.from-b.to) })
	back := c.timeOf(far.from).Sub(c.timeOf(far.to))
	if back > 0 && back <= longestBurst && far.to&(1<<c.layout.SequenceBits-1) == 0 {
		fits(CauseRestart, "at %v the IDs of worker ID %d go back by %v and begin with sequence number "+
			"0, as if the generator before had been so far ahead of its clock",
			far.Place, w.WorkerID, back)
	}
	if back > 0 {
		fits(CauseClock, "at %v the IDs of worker ID %d go back by %v, from %s to %s, and the "+
			"duplicates lie between these",
			far.Place, w.WorkerID, back, stamp(c.timeOf(far.from)), stamp(c.timeOf(far.to)))
	}
	fits(CauseTwice, "another generator with worker ID %d may have begun at %v", w.WorkerID, far.Place)
}
