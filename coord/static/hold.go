package static

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/filelock"
	slots "github.com/unalike-id/unalike/internal/protocol"
)

// hold is a worker ID that this coordinator has granted.
type hold struct {
	pair      pair
	path      string         // of the state file; empty: none
	lock      *filelock.File // nil without a state file
	record    record         // as stored last, or as it would be
	notBefore int64
	lastTick  int64
	horizon   int64 // ticks from the holder's clock to the end that it asked for; 0: not known
	// unsure says that the last save failed: what the file says may not be on the
	// disk, so it has to be written again even if it reads as wanted.
	unsure bool
	// unheard says that the last renewal was stored when its caller had gone.
	unheard bool
}

// find returns the hold of a grant, if file and memory agree that it is still its
// holder's. Where it is resumed, next is what it becomes, which may be stored already;
// otherwise next is g.
func (c *Coordinator) find(g, next coord.Grant) (*hold, record, error) {
	lost := func(why string) error { return fmt.Errorf("%w: %v: %s", coord.ErrLeaseLost, g, why) }
	h := c.held[g.WorkerID]
	if h == nil {
		return nil, record{}, lost("this coordinator does not hold the worker ID")
	}
	if !h.record.holds(g) && !h.record.holds(next) {
		return nil, record{}, lost(fmt.Sprintf("it has generation %d now", h.record.Generation))
	}
	if h.path == "" {
		return h, h.record, nil
	}
	// A lock that others cannot find keeps nobody out. What is stored must be read
	// before that is asked: a process that comes later locks first and writes then.
	stored, err := c.storage.load(h.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = lost(fmt.Sprintf("the state file %s was deleted", h.path))
	case err != nil:
		return h, record{}, err // perhaps only now; the holder keeps what it has
	case !stored.holds(next) && (!stored.holds(g) || !h.record.holds(g)) ||
		stored.Namespace != h.pair.namespace || stored.Worker != h.pair.worker:
		err = lost(fmt.Sprintf("the state file %s was replaced: it has generation %d now", h.path, stored.Generation))
	case stored.Layout != h.record.Layout:
		err = lost(fmt.Sprintf("the state file %s was replaced: it has layout %s now", h.path, stored.Layout))
	case stored.NotAfter > h.lastTick:
		err = fmt.Errorf("%w state file %q: notAfter is %d; the layout ends at tick %d", coord.ErrInvalid, h.path, stored.NotAfter, h.lastTick)
	case !h.lock.Current():
		err = lost(h.lockDeleted())
	}
	return h, stored, err
}

func (h *hold) lockDeleted() string {
	return fmt.Sprintf("the lock file %s was deleted", h.lock.Path())
}

// renew extends the window of g for the call f.
func (c *Coordinator) renew(g coord.Grant, f *call) (coord.Grant, error) {
	c.mu.Lock()
	until := f.until
	c.mu.Unlock()
	h, stored, err := c.find(g, g)
	if err == nil && h.unheard {
		h.unheard = false
		if !f.anyhow && h.suffices(g, until) { // else this is the call behind the one that nobody heard
			f.stored = h.record.NotAfter
			return h.grant(), nil
		}
	}
	if err == nil {
		slot, _, _ := h.slot(stored).Extended(g, 0, until, 0)
		err = c.extend(h, stored, h.record.with(slot))
	}
	if err != nil {
		if h != nil && errors.Is(err, coord.ErrLeaseLost) {
			c.drop(h)
		}
		return coord.Grant{}, err
	}
	f.stored = until
	return h.grant(), nil
}

// suffices reports whether what was stored for nobody serves the holder of g, which
// asks for a window until a tick: it reaches further than the holder knows, and at
// least half of a horizon is left of it, so that the next renewal begins before it ends.
// Who resumes a grant does not say how long a horizon is: whatever is further serves then.
func (h *hold) suffices(g coord.Grant, until int64) bool {
	now := min(until, h.lastTick) - h.horizon
	return h.record.NotAfter > g.NotAfter && (h.horizon == 0 || h.record.NotAfter-now >= h.horizon/2)
}

// slot is what is known of the window of h, in memory and in the file. A state file has no
// NotBefore and no floor, so that no window is ever in pieces.
func (h *hold) slot(stored record) slots.Slot {
	return slots.Slot{
		Worker: h.pair.worker, Token: h.record.Token, Generation: h.record.Generation,
		NotBefore: h.notBefore, NotAfter: max(h.record.NotAfter, stored.NotAfter), LastTick: h.lastTick,
	}
}

// extend stores next, in which the window of h has a later end.
func (c *Coordinator) extend(h *hold, stored, next record) error {
	if h.path != "" && (h.unsure || next.NotAfter != stored.NotAfter) {
		h.unsure = true
		if err := c.storage.save(h.path, next); err != nil {
			return fmt.Errorf("renew worker ID %d of namespace %q: %w", h.pair.worker, h.pair.namespace, err)
		}
		h.unsure = false
		// Whoever locked another file since the lock was looked at may have read what was
		// stored before, and begin there.
		if !h.lock.Current() {
			return fmt.Errorf("%w: %v: %s", coord.ErrLeaseLost, h.grant(), h.lockDeleted())
		}
	}
	h.record = next
	h.remember()
	return nil
}

// release gives back the worker ID of g, whose last tick stamped is last.
func (c *Coordinator) release(g coord.Grant, last int64) error {
	h, stored, err := c.find(g, g)
	if h != nil {
		// The lock is freed when the window has been trimmed, not before: the next holder
		// begins where the window ends.
		defer c.drop(h)
	}
	if err != nil {
		return err
	}
	next := h.record.with(h.slot(stored).Trimmed(g, last))
	if h.path != "" {
		if err := c.storage.save(h.path, next); err != nil {
			return fmt.Errorf("release worker ID %d of namespace %q: %w", g.WorkerID, h.pair.namespace, err)
		}
	}
	h.record = next
	h.remember()
	return nil
}

// drop gives up a worker ID within this process.
func (c *Coordinator) drop(h *hold) {
	if h.lock != nil {
		h.lock.Unlock()
	}
	h.pair.drop()
	if c.held[h.pair.worker] == h {
		delete(c.held, h.pair.worker)
	}
}

// remember keeps the record in the process's memory.
func (h *hold) remember() { h.pair.remember(h.record, h.lastTick) }

func (h *hold) grant() coord.Grant {
	return coord.Grant{
		WorkerID: h.pair.worker, Generation: h.record.Generation, Token: h.record.Token,
		NotBefore: h.notBefore, NotAfter: h.record.NotAfter,
	}
}
