package verify

import (
	"context"
	"fmt"
	"time"

	"github.com/unalike-id/unalike/core"
)

// Options say what IDs may look like.
type Options struct {
	Format
	// Layout is that of the IDs; nil: they are plain numbers, of which only duplicates are
	// looked for.
	Layout *core.Layout
	// FirstWorker and LastWorker bound the worker IDs that there may be.
	FirstWorker, LastWorker int
	// Earliest and Latest bound when IDs may have been stamped, both included.
	Earliest, Latest time.Time
	// Memory is about how many bytes are used for sorting, and Temp the folder for what
	// that does not hold; empty: that of the system.
	Memory int64
	Temp   string
	// Shown is how many examples and duplicates are reported in detail.
	Shown int
	// Read is told how many bytes were read, and Sorted how many IDs are dealt with after
	// that; nil: nobody wants to know.
	Read   func(bytes int)
	Sorted func(done, all int64)
}

// Check reads all sources and reports what is wrong with their IDs. It returns an error
// only if it cannot read or sort them. It blocks until that is done or ctx ends.
func Check(ctx context.Context, sources []Source, o Options) (r *Report, err error) {
	c := &check{Options: o, report: &Report{}, workers: map[int]*worker{}, sorter: newSorter(o.Temp, o.Memory)}
	defer func() {
		if cerr := c.sorter.close(); err == nil && cerr != nil {
			r, err = nil, fmt.Errorf("tidying up: %w", cerr)
		}
	}()
	for _, src := range sources {
		if err := c.read(ctx, src); err != nil {
			return nil, err
		}
	}
	if err := c.merge(ctx); err != nil {
		return nil, err
	}
	if err := c.locate(ctx, sources); err != nil {
		return nil, err
	}
	c.finish()
	return c.report, nil
}

// check is one call of Check.
type check struct {
	Options
	report  *Report
	sorter  *sorter
	workers map[int]*worker
	recent  *worker // that of the ID before, which is often that of the next one, too
}

// worker is what is known of a worker ID.
type worker struct {
	Worker
	first, last uint64 // the lowest and the highest ID
	prev        uint64 // the ID before, in the order of the sources
	steps       []step // back, the first ones
	tick        int64  // the tick that is being counted
	inTick      int64
	dupFirst    uint64 // the lowest and the highest duplicate
	dupLast     uint64
}

// step is where an ID of a worker ID follows a larger one.
type step struct {
	from, to uint64
	Place
}

// manySteps is from how many steps back on a sequence of IDs has no order to speak of.
const manySteps = 100

func (c *check) read(ctx context.Context, src Source) error {
	return c.Format.read(ctx, src, readers{
		passed: c.Read,
		number: func(v uint64, line int64) error {
			c.see(v, Place{src.Name, line})
			return c.sorter.add(v)
		},
		bad: func(err error, line int64) error {
			c.report.Unreadable++
			c.example("unreadable", Place{src.Name, line}, err.Error())
			return nil
		},
	})
}

// example notes something that is wrong, unless there are enough examples of its kind.
func (c *check) example(kind string, at Place, text string) {
	n := 0
	for _, e := range c.report.Examples {
		if e.Kind == kind {
			n++
		}
	}
	if n < c.Shown {
		c.report.Examples = append(c.report.Examples, Example{kind, at, text})
	}
}

// see takes note of an ID, in the order of the sources.
func (c *check) see(v uint64, at Place) {
	c.report.IDs++
	if c.Layout == nil {
		return
	}
	if v > uint64(c.Layout.MaxID()) {
		if c.report.Outside++; c.report.Outside <= int64(c.Shown) {
			c.example("outside", at, fmt.Sprintf("%d has more bits than layout %v, whose largest ID is %d", v, c.Layout, c.Layout.MaxID()))
		}
		return
	}
	w := c.worker(c.workerOf(v))
	c.judge(v, w, at)
	if w.IDs++; w.IDs == 1 {
		w.first, w.last, w.prev = v, v, v
		return
	}
	if v < w.prev {
		w.OutOfOrder++
		if c.report.OutOfOrder++; len(w.steps) < manySteps {
			w.steps = append(w.steps, step{w.prev, v, at})
		}
		if c.report.OutOfOrder <= int64(c.Shown) {
			c.example("out of order", at, fmt.Sprintf("%d follows %d, of the same worker ID %d and %v later", v, w.prev, w.WorkerID, c.timeOf(w.prev).Sub(c.timeOf(v))))
		}
	}
	w.prev, w.first, w.last = v, min(w.first, v), max(w.last, v)
}

// judge looks whether an ID can be there.
func (c *check) judge(v uint64, w *worker, at Place) {
	if w.WorkerID < c.FirstWorker || w.WorkerID > c.LastWorker {
		if c.report.Outside++; c.report.Outside <= int64(c.Shown) {
			c.example("outside", at, fmt.Sprintf("%d has worker ID %d; allowed are %d to %d", v, w.WorkerID, c.FirstWorker, c.LastWorker))
		}
	}
	switch t := c.timeOf(v); {
	case t.Before(c.Earliest):
		if c.report.Early++; c.report.Early <= int64(c.Shown) {
			c.example("early", at, fmt.Sprintf("%d was stamped at %s, before %s", v, t.Format(time.RFC3339Nano), c.Earliest.UTC().Format(time.RFC3339Nano)))
		}
	case t.After(c.Latest):
		if c.report.Late++; c.report.Late <= int64(c.Shown) {
			c.example("late", at, fmt.Sprintf("%d was stamped at %s, after %s", v, t.Format(time.RFC3339Nano), c.Latest.UTC().Format(time.RFC3339Nano)))
		}
	}
}

func (c *check) worker(id int) *worker {
	if c.recent != nil && c.recent.WorkerID == id {
		return c.recent
	}
	w := c.workers[id]
	if w == nil {
		w = &worker{Worker: Worker{WorkerID: id}, tick: -1}
		c.workers[id] = w
	}
	c.recent = w
	return w
}

func (c *check) workerOf(v uint64) int {
	return int(v >> c.Layout.SequenceBits & (1<<c.Layout.WorkerBits - 1))
}

func (c *check) tickOf(v uint64) int64 {
	return int64(v >> (c.Layout.SequenceBits + c.Layout.WorkerBits)) //nolint:gosec // it has at most 62 bits
}

func (c *check) timeOf(v uint64) time.Time { return c.Layout.Decompose(core.ID(v)).Time } //nolint:gosec // it is at most MaxID

// merge goes through all IDs in ascending order.
func (c *check) merge(ctx context.Context) error {
	var prev uint64
	times, done := int64(0), int64(0)
	err := c.sorter.each(func(v uint64) error {
		if done++; done%(1<<20) == 0 {
			if c.Sorted != nil {
				c.Sorted(done, c.sorter.count)
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if times > 0 && v == prev {
			times++
			return nil
		}
		c.group(prev, times)
		prev, times = v, 1
		return nil
	})
	c.group(prev, times)
	return err
}

// group takes note of an ID that occurs so many times.
func (c *check) group(v uint64, times int64) {
	if times == 0 {
		return
	}
	known := c.Layout != nil && v <= uint64(c.Layout.MaxID())
	if known {
		w := c.worker(c.workerOf(v))
		if tick := c.tickOf(v); tick != w.tick {
			w.tick, w.inTick = tick, 0
		}
		w.inTick++
		w.MostATick = max(w.MostATick, w.inTick)
		if times > 1 {
			if w.Duplicates++; w.Duplicates == 1 {
				w.dupFirst = v
			}
			w.dupLast = v
		}
	}
	if times == 1 {
		return
	}
	c.report.Duplicates++
	c.report.Extra += times - 1
	if len(c.report.Clashes) >= c.Shown {
		return
	}
	clash := Clash{ID: core.ID(v), Times: times} //nolint:gosec // what is read is at most 2^63 - 1
	if known {
		p := c.Layout.Decompose(clash.ID)
		clash.Time, clash.WorkerID, clash.Sequence = p.Time, p.WorkerID, p.Sequence
	}
	c.report.Clashes = append(c.report.Clashes, clash)
}

// morePlaces is how many places are noted for each duplicate.
const morePlaces = 5

// locate reads the sources once more, to say where the duplicates stand.
func (c *check) locate(ctx context.Context, sources []Source) error {
	wanted := map[uint64]*Clash{}
	for i := range c.report.Clashes {
		wanted[uint64(c.report.Clashes[i].ID)] = &c.report.Clashes[i]
	}
	for _, src := range sources {
		if !src.Again || len(wanted) == 0 {
			continue
		}
		err := c.Format.read(ctx, src, readers{
			passed: c.Read,
			bad:    func(error, int64) error { return nil },
			number: func(v uint64, line int64) error {
				if clash := wanted[v]; clash != nil && len(clash.Places) < morePlaces {
					clash.Places = append(clash.Places, Place{src.Name, line})
				}
				return nil
			},
		})
		if err != nil {
			return err
		}
	}
	return nil
}
