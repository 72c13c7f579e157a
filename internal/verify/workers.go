package verify

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/core"
)

const (
	// maxWorkers and maxSteps bound the memory for worker IDs: numbers that are no IDs of this layout
	// can look as if they had millions.
	maxWorkers = 1 << 16
	maxSteps   = 1 << 18
	// manySteps is from how many steps back on the IDs of a worker ID are in no order to speak of.
	manySteps = 100
)

// tracker keeps what is known of each worker ID.
type tracker struct {
	layout              core.Layout
	maxID               uint64
	firstTick, lastTick int64 // that are possible
	workers             map[int]*worker
	recent              *worker // that of the ID before, which is often that of the next one, too
	source              int     // the number of the source that is read
	steps               int     // in all workers
	floor               int64   // the first tick of which the coordinator knows all windows
}

// worker is what is known of a worker ID.
type worker struct {
	Worker
	lowest, highest   uint64 // IDs
	prev              uint64 // the ID before, in the order of the sources
	source            int    // the number of the source that prev stands in
	steps             []step // the first ones
	distinct          int64
	dupFirst, dupLast uint64 // the lowest and the highest duplicate
	end               int64  // the tick after its last window; 0: it was never granted
	stray             uint64 // the lowest ID for which it was not granted
	strayAt           Place
}

// step is where an ID of a worker ID follows a larger one, in the same source or in the one before.
type step struct {
	from, to uint64
	Place
}

func newTracker(o Options) tracker {
	if o.Layout == nil {
		return tracker{}
	}
	t := tracker{
		layout: *o.Layout, lastTick: math.MaxInt64, workers: map[int]*worker{}, floor: math.MaxInt64,
	}
	t.maxID = uint64(t.layout.MaxID()) //nolint:gosec // it is not negative
	if !o.Earliest.IsZero() {
		t.firstTick = t.scale().Tick(o.Earliest.UnixMicro()-1) + 1
	}
	if !o.Latest.IsZero() {
		t.lastTick = t.scale().Tick(o.Latest.UnixMicro())
	}
	return t
}

func (t *tracker) scale() clock.Scale {
	return clock.Scale{Epoch: t.layout.Epoch.UnixMicro(), Unit: t.layout.Unit.Microseconds()}
}

func (t *tracker) workerOf(v uint64) int {
	//nolint:gosec // it has at most 31 bits
	return int(v >> t.layout.SequenceBits & (1<<t.layout.WorkerBits - 1))
}

func (t *tracker) tickOf(v uint64) int64 {
	//nolint:gosec // it has at most 62 bits
	return int64(v >> (t.layout.SequenceBits + t.layout.WorkerBits))
}

func (t *tracker) timeOf(v uint64) time.Time { return t.timeOfTick(t.tickOf(v)) }

func (t *tracker) timeOfTick(tick int64) time.Time {
	return time.UnixMicro(t.scale().Micro(tick)).UTC()
}

// worker returns what is known of a worker ID; nil: it is one too many.
func (t *tracker) worker(id int) *worker {
	if t.recent != nil && t.recent.WorkerID == id {
		return t.recent
	}
	w := t.workers[id]
	if w == nil {
		if len(t.workers) == maxWorkers {
			return nil
		}
		w = &worker{Worker: Worker{WorkerID: id}}
		t.workers[id] = w
	}
	t.recent = w
	return w
}

// follow takes note of the next ID of a worker ID, in the order of the sources. It reports whether
// the ID is not below the one before, which it returns, or is the first one in its source.
func (t *tracker) follow(w *worker, v uint64, at Place) (prev uint64, ok bool) {
	if w.IDs++; w.IDs == 1 {
		w.lowest, w.highest, w.prev, w.source = v, v, v, t.source
		return v, true
	}
	prev, ok = w.prev, true
	if v < prev {
		if len(w.steps) < manySteps && t.steps < maxSteps {
			t.steps++
			w.steps = append(w.steps, step{prev, v, at})
		}
		if w.source == t.source { //mutant:verify-order
			ok = false
			w.OutOfOrder++
		}
	}
	w.source, w.prev, w.lowest, w.highest = t.source, v, min(w.lowest, v), max(w.highest, v)
	return prev, ok
}

// granted takes note of what the coordinator has granted.
func (t *tracker) granted(g Grants) {
	t.floor = 0
	if !g.Floor.IsZero() {
		t.floor = t.scale().Tick(g.Floor.UnixMicro())
	}
	for id, w := range t.workers {
		until, ok := g.Until[id]
		switch {
		case ok:
			w.end = t.scale().Tick(until.UnixMicro())
		case g.Partial:
			w.end = math.MaxInt64
		}
	}
}

// tally takes note of a different ID, in ascending order, and how many times it occurs.
func (t *tracker) tally(v uint64, times int64) {
	w := t.worker(t.workerOf(v))
	if w == nil {
		return
	}
	w.distinct++
	if t.tickOf(v) >= max(w.end, t.floor) { //mutant:verify-granted
		if w.Ungranted == 0 {
			w.stray = v
		}
		w.Ungranted += times
	}
	if times == 1 {
		return
	}
	if w.Duplicates++; w.Duplicates == 1 {
		w.dupFirst = v
	}
	w.dupLast = v
}

// all returns the worker IDs in ascending order, completed.
func (t *tracker) all() []*worker {
	var out []*worker
	for _, id := range slices.Sorted(maps.Keys(t.workers)) {
		w := t.workers[id]
		w.First, w.Last = t.timeOf(w.lowest), t.timeOf(w.highest)
		out = append(out, w)
	}
	return out
}
