package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/unalike-id/unalike/core"
)

// Options say what IDs may look like, and what may be used to check them.
type Options struct {
	Format
	// Layout is that of the IDs; nil: they are plain numbers, which are only searched for duplicates.
	Layout *core.Layout
	// Workers are the worker IDs that are allowed; nil: all of the layout.
	Workers *WorkerRange
	// Earliest and Latest bound when IDs may have been stamped, both included; zero: there is no bound
	// but the layout's.
	Earliest, Latest time.Time
	// Grants returns what a coordinator has granted. It is called once all IDs were read, so that it
	// covers them. Nil: no coordinator is asked.
	Grants func(context.Context) (Grants, error)
	// Memory is how many bytes the program may use for sorting, 1 MiB at least; up to 50 MiB for all
	// else come on top of it. What it does not hold goes to the folder Temp; empty: the system's.
	Memory int64
	Temp   string
	// Shown is how many duplicates, and how many examples of each kind, are reported in detail.
	Shown int64
	// Progress is called now and then with how much of a step is done: bytes while sources are read,
	// else IDs. All is negative if it is unknown. Nil: nobody wants to know.
	Progress func(doing string, done, all int64)
}

// Grants is what a coordinator knows of the worker IDs that it has granted.
type Grants struct {
	// Until has the worker IDs that were granted, and when the last window of each ends.
	Until map[int]time.Time
	// Floor is the floor of the namespace. Earlier IDs may have been made in windows that the
	// coordinator has forgotten, or in a namespace that this one follows.
	Floor time.Time
	// Partial says that worker IDs which are not in Until may have been granted, too.
	Partial bool
}

// WorkerRange is a range of worker IDs, both included.
type WorkerRange struct{ First, Last int }

// Check reads all sources and reports what is wrong with their IDs. It returns an error only if it
// cannot read or sort them. It blocks until that is done or ctx ends, and then deletes its
// temporary files.
func Check(ctx context.Context, sources []Source, o Options) (r *Report, err error) {
	c := &check{
		Options: o, report: &Report{Examples: []Example{}, Causes: []Cause{}}, tracker: newTracker(o),
		sorter: newSorter(o.Temp, o.Memory), shown: map[string]int64{},
	}
	defer func() {
		if cerr := c.sorter.close(); cerr != nil {
			r, err = nil, errors.Join(err, cerr)
		}
	}()
	if err := c.read(ctx, sources); err != nil {
		return nil, err
	}
	if c.Layout != nil && c.Grants != nil {
		g, err := c.Grants(ctx)
		if err != nil {
			return nil, err
		}
		c.granted(g)
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
	tracker
	report *Report
	sorter *sorter
	shown  map[string]int64 // how many examples there are of each kind
}

// read reads all sources once, in their order.
func (c *check) read(ctx context.Context, sources []Source) error {
	passed := c.count("reading", sources)
	for i, src := range sources {
		c.source = i
		err := c.Format.read(ctx, src, readers{
			passed: passed,
			number: func(v uint64, line int64) error {
				c.see(v, Place{src.Name, line})
				return c.sorter.add(v)
			},
			bad: func(err error, line int64) {
				c.report.Unreadable++
				c.example(KindUnreadable, Place{src.Name, line}, err.Error)
			},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// count returns what counts the bytes of sources for a step of the work.
func (c *check) count(doing string, sources []Source) func(bytes int) {
	done, all := int64(0), int64(0)
	for _, src := range sources {
		if all += src.Size; src.Size < 0 {
			all = -1
			break
		}
	}
	return func(bytes int) {
		if done += int64(bytes); c.Progress != nil {
			c.Progress(doing, done, all)
		}
	}
}

// example adds an example of what is wrong, unless there are enough of its kind.
func (c *check) example(kind string, at Place, text func() string) {
	if c.shown[kind] < c.Shown {
		c.shown[kind]++
		c.report.Examples = append(c.report.Examples, Example{kind, at, text()})
	}
}

// see checks an ID for itself, and against the one before it of the same worker ID.
func (c *check) see(v uint64, at Place) {
	c.report.IDs++
	if c.Layout == nil {
		return
	}
	if v > c.maxID {
		c.report.Outside++
		c.example(KindOutside, at, func() string {
			return fmt.Sprintf("%d has more bits than layout %v, whose largest ID is %d", v, c.Layout,
				c.maxID)
		})
		return
	}
	c.judge(v, at)
	w := c.worker(c.workerOf(v))
	if w == nil {
		c.report.Unattributed++
		return
	}
	if prev, ok := c.follow(w, v, at); !ok {
		c.report.OutOfOrder++
		c.example(KindOrder, at, func() string {
			return fmt.Sprintf("%d follows %d, which worker ID %d made %v later", v, prev, w.WorkerID,
				c.timeOf(prev).Sub(c.timeOf(v)))
		})
	}
}

// judge checks the worker ID and the time of an ID.
func (c *check) judge(v uint64, at Place) {
	id, r := c.workerOf(v), c.Workers
	if r != nil && (id < r.First || id > r.Last) {
		c.report.Outside++
		c.example(KindOutside, at, func() string {
			return fmt.Sprintf("%d has worker ID %d; allowed are %d to %d", v, id, r.First, r.Last)
		})
	}
	switch tick := c.tickOf(v); {
	case tick < c.firstTick:
		c.report.Early++
		c.example(KindEarly, at, func() string {
			return fmt.Sprintf("%d was stamped at %s, before %s", v, stamp(c.timeOf(v)), stamp(c.Earliest))
		})
	case tick > c.lastTick:
		c.report.TooLate++
		c.example(KindLate, at, func() string {
			return fmt.Sprintf("%d was stamped at %s, after %s", v, stamp(c.timeOf(v)), stamp(c.Latest))
		})
	}
}

// stamp prints a time in messages.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// progressEvery is after how many IDs progress is reported while IDs are compared.
const progressEvery = 1 << 20

// merge goes through all IDs in ascending order, where equal ones are neighbours.
func (c *check) merge(ctx context.Context) error {
	var prev uint64
	times, done := int64(0), int64(0)
	err := c.sorter.each(func(v uint64) error {
		if done++; done%progressEvery == 0 {
			if c.Progress != nil {
				c.Progress("comparing", done, c.sorter.count)
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
	known := c.Layout != nil && v <= c.maxID
	if known {
		c.tally(v, times)
	}
	if times == 1 {
		return
	}
	c.report.Duplicates++
	c.report.Extra += times - 1
	if int64(len(c.report.Clashes)) >= c.Shown {
		return
	}
	clash := Clash{ID: core.ID(v), Times: times} //nolint:gosec // what is read is at most 2^63 - 1
	if known {
		parts := c.Layout.Decompose(clash.ID)
		clash.Parts = &parts
	}
	c.report.Clashes = append(c.report.Clashes, clash)
}

// placesShown is how many places are reported for each duplicate.
const placesShown = 5

// locate reads the sources once more, to find where the duplicates stand, and the first ID of each
// worker ID that was not granted for it.
func (c *check) locate(ctx context.Context, sources []Source) error {
	wanted := map[uint64]*Clash{}
	for i := range c.report.Clashes {
		//nolint:gosec // an ID is not negative
		wanted[uint64(c.report.Clashes[i].ID)] = &c.report.Clashes[i]
	}
	strays := map[uint64]*worker{}
	for _, w := range c.workers {
		if w.Ungranted > 0 {
			strays[w.stray] = w
		}
	}
	if len(wanted)+len(strays) == 0 {
		return nil
	}
	sources = slices.DeleteFunc(slices.Clone(sources), func(src Source) bool { return !src.Again })
	passed := c.count("finding lines", sources)
	for _, src := range sources {
		err := c.Format.read(ctx, src, readers{
			passed: passed,
			bad:    func(error, int64) {},
			number: func(v uint64, line int64) error {
				if clash := wanted[v]; clash != nil && len(clash.Places) < placesShown {
					clash.Places = append(clash.Places, Place{src.Name, line})
				}
				if w := strays[v]; w != nil && w.strayAt == (Place{}) {
					w.strayAt = Place{src.Name, line}
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
