package static

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"strings"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
)

// Resume implements [coord.Resumer]. The lock of the state file shows as well whether the
// former holder is dead: if another process has it, or another coordinator of this one, the
// error wraps [coord.ErrNoWorkerID] and names it. What another process has left can be
// resumed with its state file only; without one, nothing tells that nobody has used the
// worker ID since, and the error is [coord.ErrLeaseLost].
func (c *Coordinator) Resume(ctx context.Context, g coord.Grant, token string, until int64) (coord.Grant, error) {
	if err := driver.CheckResume(g, token); err != nil {
		return coord.Grant{}, err
	}
	return c.do(ctx, c.resumption(g, token, until))
}

// resumption returns the call that resumes g.
func (c *Coordinator) resumption(g coord.Grant, token string, until int64) *call {
	next := g
	next.Token, next.Generation = token, g.Generation+1
	var taken bool
	return &call{
		key:   callKey{op: "resume", worker: g.WorkerID, generation: g.Generation, token: token},
		until: until,
		run: func(f *call) (r coord.Grant, err error) {
			r, taken, err = c.resume(g, next, f)
			return r, err
		},
		unheard: func(r coord.Grant) {
			// Whoever asks again finds it stored. Nothing is trimmed: the window is theirs.
			if h := c.held[r.WorkerID]; h != nil && taken {
				c.drop(h)
			}
		},
	}
}

// resume makes next of g, and extends its window for the call f. Taken is true if this
// coordinator did not hold next before.
func (c *Coordinator) resume(g, next coord.Grant, f *call) (_ coord.Grant, taken bool, err error) {
	c.mu.Lock()
	until := f.until
	c.mu.Unlock()
	var h *hold
	var stored record
	fresh := c.held[g.WorkerID] == nil
	if fresh {
		h, stored, err = c.reclaim(g, next)
	} else {
		h, stored, err = c.find(g, next)
	}
	if err == nil {
		h.notBefore = max(h.notBefore, g.NotBefore)
		slot, _, _ := h.slot(stored).Extended(g, 0, until, 0)
		taken = fresh
		if !h.record.holds(next) {
			slot = slot.Resumed(next.Token)
			h.unsure, taken = true, true // the file has to be written, whatever its window
		}
		err = c.extend(h, stored, h.record.with(slot))
	}
	if err != nil {
		// Which of the two is stored, the file tells whoever asks again.
		if h != nil && (fresh || taken || errors.Is(err, coord.ErrLeaseLost)) {
			c.drop(h)
		}
		return coord.Grant{}, false, err
	}
	c.held[g.WorkerID] = h
	return h.grant(), taken, nil
}

// reclaim takes the worker ID of a grant for this coordinator, by its lock, if what is
// stored of it, or remembered where there is no file, is g or next. The caller drops what
// it gets, with an error too.
func (c *Coordinator) reclaim(g, next coord.Grant) (*hold, record, error) {
	lost := func(why string) error { return fmt.Errorf("%w: %v: %s", coord.ErrLeaseLost, g, why) }
	first := int64(g.WorkerID) // the low bits of an address, which are compared below
	if !c.source.ip {
		var err error
		if first, err = c.source.resolve(c.opts.Count, math.MaxInt32); err != nil {
			return nil, record{}, err
		}
	}
	if n := int64(g.WorkerID) - first; n < 0 || n >= int64(c.opts.Count) {
		return nil, record{}, lost(fmt.Sprintf("this coordinator has the worker IDs %v", coord.Range{First: int(first), Count: c.opts.Count}))
	}
	// What a process that died has left may not be on the disk yet.
	h := &hold{pair: pair{c.opts.Namespace, g.WorkerID}, unsure: true}
	known, err := h.pair.claim()
	if err != nil {
		return nil, record{}, err
	}
	stored := record{
		Version: stateVersion, Namespace: h.pair.namespace, Worker: h.pair.worker, Layout: h.pair.layout(),
		Generation: known.generation, NotAfter: known.notAfter, Token: known.token,
	}
	if c.opts.State != "" {
		stored, err = c.reopen(h, int(first))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return h, stored, lost(fmt.Sprintf("the state file %s is not there", h.path))
	case err != nil:
		return h, stored, err
	case stored.Namespace != h.pair.namespace || stored.Worker != h.pair.worker:
		return h, stored, lost(fmt.Sprintf("the state file %s belongs to namespace %q, worker ID %d", h.path, stored.Namespace, stored.Worker))
	case stored.Generation == 0:
		return h, stored, lost("without a state file, this process knows nothing of it")
	case stored.Generation < known.generation:
		return h, stored, lost(fmt.Sprintf("this process has had generation %d since", known.generation))
	case stored.Generation == known.generation && stored.Token != known.token:
		return h, stored, lost("this process has released it")
	case !stored.holds(g) && !stored.holds(next):
		return h, stored, lost(fmt.Sprintf("what is stored has generation %d, or was released", stored.Generation))
	}
	stored.NotAfter = max(stored.NotAfter, known.notAfter)
	return h, stored, c.complete(h, stored, known, lost)
}

// complete fills in what a hold has beside what is stored.
func (c *Coordinator) complete(h *hold, stored record, known memory, lost func(string) error) error {
	lastTick, capacity, err := extentOf(stored.Layout)
	if err != nil && (known.lastTick == 0 || c.source.ip) {
		return misplaced(h.path, err)
	}
	if known.lastTick != 0 {
		lastTick = known.lastTick
	}
	if c.source.ip {
		own, err := c.source.resolve(c.opts.Count, capacity)
		if err != nil {
			return err
		}
		if own != int64(h.pair.worker) {
			return lost(fmt.Sprintf("this machine's address gives worker ID %d now", own))
		}
	}
	if stored.NotAfter > lastTick {
		return misplaced(h.path, fmt.Errorf("%w: notAfter is %d; the layout ends at tick %d", coord.ErrInvalid, stored.NotAfter, lastTick))
	}
	h.record, h.lastTick = stored, lastTick
	return h.pair.settle(stored.Layout)
}

// reopen locks and reads the state file of h.
func (c *Coordinator) reopen(h *hold, first int) (record, error) {
	path, err := statePath(c.opts.State, first, h.pair.worker)
	if err != nil {
		return record{}, err
	}
	if h.lock, err = lock(path+".lock", c.storage.lock); err != nil {
		return record{}, fmt.Errorf("worker ID %d of namespace %q: %w", h.pair.worker, h.pair.namespace, err)
	}
	h.path = path
	return c.storage.load(path)
}

// extentOf reads the last tick and the number of worker IDs from a layout's fingerprint,
// whose first two parts are bits.
func extentOf(layout string) (lastTick int64, capacity int, _ error) {
	if parts := strings.SplitN(layout, "/", 5); len(parts) == 5 {
		time, err1 := strconv.ParseUint(parts[0], 10, 8)
		worker, err2 := strconv.ParseUint(parts[1], 10, 8)
		if err1 == nil && err2 == nil && time > 0 && time < 63 && worker < 32 {
			return 1<<time - 1, int(min(uint64(1)<<worker, math.MaxInt)), nil // 31 bits fill an int on 32-bit machines
		}
	}
	return 0, 0, fmt.Errorf("%w: layout %.80q does not say how many bits it has; it has the form time/worker/sequence bits/unit/epoch", coord.ErrInvalid, layout)
}
