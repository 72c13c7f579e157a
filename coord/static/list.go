package static

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
)

// List implements [driver.Lister] for the worker IDs that this coordinator is
// configured with, by their state files. A slot is held if its lock is, by whatever
// process of this machine. NotBefore is 0, as it is not stored, and Since is known
// of the present holder only. Without a state file, nothing tells what other
// processes do, and the error wraps [coord.ErrInvalid].
func (c *Coordinator) List(ctx context.Context) ([]coord.Slot, error) {
	var slots []coord.Slot
	var unreadable error
	_, err := c.do(ctx, &call{key: callKey{op: "list"}, run: func(*call) (coord.Grant, error) {
		slots, unreadable = c.list()
		return coord.Grant{}, nil
	}})
	if err != nil {
		return nil, err // list may be running still
	}
	return slots, unreadable
}

func (c *Coordinator) list() ([]coord.Slot, error) {
	if c.opts.State == "" {
		return nil, fmt.Errorf("%w: a static coordinator without a state file cannot tell who holds its worker IDs; name the state file", coord.ErrInvalid)
	}
	first := int64(-1) // the low bits of an address, of which the file knows how many
	if !c.source.ip {
		var err error
		if first, err = c.source.resolve(c.opts.Count, math.MaxInt32); err != nil {
			return nil, err
		}
	}
	var slots []coord.Slot
	var unreadable []error
	for i := range c.opts.Count {
		path, err := statePath(c.opts.State, int(first), int(first)+i)
		var s coord.Slot
		if err == nil {
			s, err = c.listed(path, int(first), int(first)+i)
		}
		switch {
		case err == nil:
			slots = append(slots, s)
		case !errors.Is(err, errNeverGranted):
			unreadable = append(unreadable, err)
		}
	}
	return slots, errors.Join(unreadable...)
}

// errNeverGranted says that a worker ID has neither a state file nor a holder.
var errNeverGranted = errors.New("never granted")

// listed returns what the state file at path and its lock say. With a first worker
// ID below 0, the file may be that of any.
func (c *Coordinator) listed(path string, first, worker int) (coord.Slot, error) {
	// The lock first: what is stored after somebody has let go of it is final.
	who, since, err := lockedBy(path + ".lock")
	if err != nil {
		return coord.Slot{}, err
	}
	r, err := load(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && who == "":
		return coord.Slot{}, errNeverGranted
	case errors.Is(err, fs.ErrNotExist):
		return coord.Slot{}, fmt.Errorf("%w state file %q: it is missing and its lock is held by %s", coord.ErrInvalid, path, who)
	case err != nil:
		return coord.Slot{}, err
	}
	if first < 0 {
		worker = r.Worker
	}
	if err := r.owned(pair{c.opts.Namespace, worker}, r.Layout, math.MaxInt64); err != nil {
		return coord.Slot{}, misplaced(path, err)
	}
	scale, err := scaleOf(r.Layout)
	if err != nil {
		return coord.Slot{}, misplaced(path, err)
	}
	s := coord.Slot{
		WorkerID: r.Worker, State: coord.SlotFree, Layout: r.Layout, Holder: r.Holder, Generation: r.Generation,
		NotAfter: r.NotAfter, Until: time.UnixMicro(scale.Micro(addOne(r.NotAfter))).UTC(),
	}
	if who != "" {
		s.State, s.Since = coord.SlotHeld, since.UTC()
	}
	if info, err := os.Stat(path); err == nil { // else it was replaced just now
		s.Renewed = info.ModTime().UTC()
	}
	return s, nil
}

// addOne returns the tick after t, if there is one.
func addOne(t int64) int64 {
	if t == math.MaxInt64 {
		return t
	}
	return t + 1
}

// scaleOf reads unit and epoch from a layout's fingerprint, the last two of its five
// parts.
func scaleOf(layout string) (clock.Scale, error) {
	parts := strings.SplitN(layout, "/", 5)
	if len(parts) == 5 {
		unit, err1 := time.ParseDuration(parts[3])
		epoch, err2 := time.Parse(time.RFC3339Nano, parts[4])
		if err1 == nil && err2 == nil && unit >= time.Millisecond && epoch.Unix() >= 0 {
			return clock.Scale{Epoch: epoch.UnixMicro(), Unit: unit.Microseconds()}, nil
		}
	}
	return clock.Scale{}, fmt.Errorf("%w: layout %.80q says neither unit nor epoch; it has the form time/worker/sequence bits/unit/epoch", coord.ErrInvalid, layout)
}
