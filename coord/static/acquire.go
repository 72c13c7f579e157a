package static

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"os"
	"slices"
	"time"

	"github.com/unalike-id/unalike/coord"
	slots "github.com/unalike-id/unalike/internal/protocol"
)

// workers returns the first worker ID, checked against the layout and the share.
func (c *Coordinator) workers(req coord.Request) (int, error) {
	first, err := c.source.resolve(c.opts.Count, req.Capacity)
	if err != nil {
		return 0, err
	}
	last := first + int64(c.opts.Count) - 1
	if last >= int64(req.Capacity) {
		return 0, fmt.Errorf("%w: static worker ID %d; the layout has worker IDs 0 to %d", coord.ErrInvalid, last, req.Capacity-1)
	}
	share := req.Workers
	if first < int64(share.First) || last >= int64(share.First)+int64(share.Count) {
		mine := coord.Range{First: int(first), Count: c.opts.Count}
		return 0, fmt.Errorf("%w: static worker IDs %v are not within the share %v that the generator is configured for; change one of them", coord.ErrInvalid, mine, share)
	}
	return int(first), nil
}

// acquire grants a worker ID, or again what the token holds. Fresh is false for what
// was granted before.
func (c *Coordinator) acquire(req coord.Request) (g coord.Grant, fresh bool, err error) {
	for _, h := range c.held {
		if h.record.Token == req.Token {
			return h.grant(), false, nil
		}
	}
	first, err := c.workers(req)
	if err != nil {
		return coord.Grant{}, false, err
	}
	if err := c.checkLayouts(req, first); err != nil {
		return coord.Grant{}, false, err
	}
	if err := c.checkAhead(req); err != nil {
		return coord.Grant{}, false, err
	}
	var refusals []error
	for id := range c.candidates(req, first) {
		h, err := c.take(req, first, id)
		switch {
		case err == nil:
			c.held[id] = h
			return h.grant(), true, nil
		case !errors.Is(err, coord.ErrNoWorkerID):
			return coord.Grant{}, false, err
		}
		refusals = append(refusals, err)
	}
	if len(refusals) == 1 {
		return coord.Grant{}, false, refusals[0]
	}
	return coord.Grant{}, false, fmt.Errorf("%w in namespace %q: all %d are held: %w", coord.ErrNoWorkerID, c.opts.Namespace, len(refusals), errors.Join(refusals...))
}

// checkLayouts compares the layout with that in the state files of all worker IDs
// that this coordinator has, those that others hold among them. It reads without
// locks: files are replaced whole. What is wrong with a file in other ways is said
// when it is taken.
func (c *Coordinator) checkLayouts(req coord.Request, first int) error {
	if c.opts.State == "" || c.opts.Count == 1 || c.checked == req.Fingerprint {
		return nil
	}
	for id := first; id < first+c.opts.Count; id++ {
		path, err := statePath(c.opts.State, first, id)
		if err != nil {
			return err
		}
		stored, err := c.storage.load(path)
		if err == nil && stored.Namespace == c.opts.Namespace && stored.Layout != req.Fingerprint {
			return misplaced(path, stored.owned(pair{c.opts.Namespace, stored.Worker}, req.Fingerprint, req.LastTick))
		}
	}
	c.checked = req.Fingerprint
	return nil
}

// checkAhead refuses a holder that may stamp further ahead of the clock than the next
// process waits, which without a state file cannot know how far that was.
func (c *Coordinator) checkAhead(req coord.Request) error {
	most := req.Scale.TicksUp(MaxAhead.Microseconds())
	if c.opts.State != "" || req.Ahead <= most {
		return nil
	}
	tick := time.Duration(req.Scale.Unit) * time.Microsecond
	return fmt.Errorf("%w: Lead and RollbackTolerance let the generator be %d ticks of %v ahead of the clock; without a state file at most %d are allowed, because a restart that waits for less issues the same IDs again; name a state file, or set Lead to 0 and RollbackTolerance to at most %v",
		coord.ErrInvalid, req.Ahead, tick, most, MaxAhead)
}

// candidates yields the worker IDs in the order in which they are to be tried: first
// those whose window opens by Request.OpenBy, then the others, the one that opens
// first before the rest. It looks without locks, so the order is a preference, and
// looks no further than it is asked for.
func (c *Coordinator) candidates(req coord.Request, first int) iter.Seq[int] {
	type candidate struct {
		id    int
		opens int64
	}
	return func(yield func(int) bool) {
		var late []candidate
		for id := first; id < first+c.opts.Count; id++ {
			opens := req.OpenBy
			if c.opts.Count > 1 {
				opens = c.looksOpen(req, first, id)
			}
			if opens > req.OpenBy {
				late = append(late, candidate{id, opens})
			} else if !yield(id) {
				return
			}
		}
		slices.SortStableFunc(late, func(a, b candidate) int { return cmp.Compare(a.opens, b.opens) })
		for _, l := range late {
			if !yield(l.id) {
				return
			}
		}
	}
}

// looksOpen returns the tick at which a window of the worker ID would open. A worker
// ID that cannot be granted as it is comes last, and that is logged. So is a state file
// that was lost: one horizon is waited out, or another worker ID granted meanwhile.
func (c *Coordinator) looksOpen(req coord.Request, first, id int) int64 {
	p := pair{c.opts.Namespace, id}
	known := p.look()
	if known.held {
		return math.MinInt64 // to be refused at once, without a look at its file
	}
	var stored *record
	var err error
	if c.opts.State != "" {
		var path string
		if path, err = statePath(c.opts.State, first, id); err == nil {
			stored, err = c.read(path, p, req)
		}
		if err == nil && stored == nil && !c.opts.AcceptFresh && wasTaken(path) {
			c.opts.Logger.Warn("state file is missing, and its lock file is there: it was lost, or another process is about to write it; the worker IDs that open earlier are tried first", "state_file", path, "worker_id", id)
		}
	}
	from := c.from(req, known, stored)
	if err == nil {
		err = tooFar(req, p, from)
	}
	if err != nil {
		c.opts.Logger.Warn("worker ID cannot be used as it is; the others are tried first", "worker_id", id, "error", err)
		return math.MaxInt64
	}
	return from
}

// wasTaken reports whether a process had the worker ID of a state file once: its lock file
// stays.
func wasTaken(path string) bool {
	_, err := os.Lstat(path + lockSuffix)
	return err == nil
}

// from returns NotBefore of the next window: where the last one ended, as far as this
// process knows it and as far as it is stored. Stored is nil if it is not.
func (c *Coordinator) from(req coord.Request, known memory, stored *record) int64 {
	switch {
	case stored != nil:
		return max(known.notAfter, stored.NotAfter)
	case c.opts.State == "" && known.generation == 0:
		// Whoever had the worker ID before this process may have been ahead of the clock.
		return max(known.notAfter, min(req.Now+req.Scale.TicksUp(MaxAhead.Microseconds()), req.LastTick))
	case c.opts.State != "" && !c.opts.AcceptFresh:
		// Lost or new, that cannot be told: a predecessor's window has ended when one
		// horizon has passed.
		return max(known.notAfter, min(max(req.Now, req.Until), req.LastTick))
	}
	return known.notAfter
}

// read reads the state file of a worker ID; nil: there is none.
func (c *Coordinator) read(path string, p pair, req coord.Request) (*record, error) {
	stored, err := c.storage.load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := stored.owned(p, req.Fingerprint, req.LastTick); err != nil {
		return nil, misplaced(path, err)
	}
	return &stored, nil
}

// tooFar refuses a window that opens later than any right clock can have pushed the
// end of the one before. Waiting for it would be waiting for years.
func tooFar(req coord.Request, p pair, from int64) error {
	if from <= slots.Reach(req.Scale, req.Scale.Micro(req.Now), MaxHorizon, 0) {
		return nil
	}
	return fmt.Errorf("%w: the last window of worker ID %d of namespace %q ends at %s, further ahead than any right clock can have pushed it; set this machine's clock if it is behind; if it is right, a wrong one pushed the window and IDs of that time may exist: use another worker ID, with a state file of its own",
		coord.ErrInvalid, p.worker, p.namespace, slots.Stamp(req.Scale.Micro(from)))
}

// take acquires one worker ID: for this process, then by its lock, then on disk.
func (c *Coordinator) take(req coord.Request, first, id int) (_ *hold, err error) {
	h := &hold{pair: pair{c.opts.Namespace, id}, lastTick: req.LastTick, horizon: req.Until - req.Now}
	known, err := h.pair.claim()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			c.drop(h)
		}
	}()
	h.record = record{
		Version: stateVersion, Namespace: c.opts.Namespace, Worker: id,
		Layout: req.Fingerprint, Generation: known.generation, Token: req.Token, Holder: req.Holder,
	}
	var stored *record
	if c.opts.State != "" {
		if stored, err = c.open(h, req, first); err != nil {
			return nil, err
		}
	}
	if stored != nil {
		h.record.Generation = max(known.generation, stored.Generation)
	}
	h.notBefore = c.from(req, known, stored)
	if err = tooFar(req, h.pair, h.notBefore); err != nil {
		return nil, err
	}
	if err = h.pair.settle(req.Fingerprint); err != nil {
		return nil, err
	}
	last := slots.Candidate{ID: id, Slot: h.slot(record{NotAfter: h.notBefore})}
	h.record = h.record.with(last.Granted(slots.Meta{}, req, 0))
	if h.path != "" {
		if err = c.storage.save(h.path, h.record); err != nil {
			return nil, err
		}
		if !h.lock.Current() {
			// As after a renewal: another process may have read what was stored before.
			return nil, fmt.Errorf("acquire worker ID %d of namespace %q: %s", id, h.pair.namespace, h.lockDeleted())
		}
	}
	h.remember()
	return h, nil
}

// open locks the state file of h and reads it; nil: there is none.
func (c *Coordinator) open(h *hold, req coord.Request, first int) (*record, error) {
	path, err := statePath(c.opts.State, first, h.pair.worker)
	if err != nil {
		return nil, err
	}
	if h.lock, err = lock(path+lockSuffix, c.storage.lock); err != nil {
		if !errors.Is(err, coord.ErrNoWorkerID) {
			return nil, err
		}
		// Another worker ID's file by mistake is the better explanation.
		if r, err := c.storage.load(path); err == nil && (r.Namespace != h.pair.namespace || r.Worker != h.pair.worker) {
			return nil, misplaced(path, r.owned(h.pair, req.Fingerprint, req.LastTick))
		}
		return nil, fmt.Errorf("worker ID %d of namespace %q: %w", h.pair.worker, h.pair.namespace, err)
	}
	h.path = path
	// What is stored is final once nobody else can have the lock, and not before.
	stored, err := c.read(path, h.pair, req)
	if err == nil && stored == nil && !c.opts.AcceptFresh {
		c.opts.Logger.Warn("state file is missing; waiting one horizon in case it was lost; fresh=true (Options.AcceptFresh) spares that at the first start of all", "state_file", path, "worker_id", h.pair.worker)
	}
	return stored, err
}

// misplaced adds the path to an error of record.owned.
func misplaced(path string, err error) error {
	return fmt.Errorf("state file %q: %w", path, err)
}
