package static

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/filelock"
)

// Coordinator grants the configured worker IDs. It is safe for concurrent use.
// Calls do file operations, which the operating system may not let be
// interrupted: a call whose context ends returns, and the operation is finished or
// undone behind it.
type Coordinator struct {
	opts    Options
	source  source
	storage storage

	turn      chan struct{} // holds one value while an operation is under way
	held      map[int]*hold // by worker ID; only in one's turn
	checked   string        // the layout that all state files agree with; likewise
	done      chan struct{} // closed by Close
	closeOnce sync.Once
}

var (
	_ coord.Coordinator = (*Coordinator)(nil)
	_ coord.LeaseRuler  = (*Coordinator)(nil)
	_ coord.Lister      = (*Coordinator)(nil)
	_ coord.Warner      = (*Coordinator)(nil)
)

// hold is a worker ID that this coordinator has granted.
type hold struct {
	pair      pair
	path      string         // of the state file; empty: none
	lock      *filelock.File // nil without a state file
	record    record         // as stored last, or as it would be
	notBefore int64
	lastTick  int64
	// unsure says that the last save failed: what the file says may not be on the
	// disk, so it has to be written again even if it reads as wanted.
	unsure bool
}

// Acquire implements [coord.Coordinator]. The error wraps [coord.ErrNoWorkerID] if
// each of the worker IDs is held, and names the processes that hold them.
func (c *Coordinator) Acquire(ctx context.Context, req coord.Request) (coord.Grant, error) {
	if err := req.Validate(); err != nil {
		return coord.Grant{}, err
	}
	return c.do(ctx, "acquire", func() (coord.Grant, error) { return c.acquire(req) }, func(g coord.Grant) {
		// Nobody has been told of this grant, so nobody has stamped.
		_ = c.release(g, g.NotBefore)
	})
}

// Renew implements [coord.Coordinator].
func (c *Coordinator) Renew(ctx context.Context, g coord.Grant, until int64) (coord.Grant, error) {
	// Nothing to undo: a window that reaches further than its holder knows is safe.
	return c.do(ctx, "renew", func() (coord.Grant, error) { return c.renew(g, until) }, nil)
}

// Release implements [coord.Coordinator]. If the state file cannot be written, the
// worker ID is free all the same, and its next holder waits for the end of the
// window.
func (c *Coordinator) Release(ctx context.Context, g coord.Grant, last int64) error {
	_, err := c.do(ctx, "release", func() (coord.Grant, error) { return coord.Grant{}, c.release(g, last) }, nil)
	return err
}

// Close frees the locks of all worker IDs that are held still and leaves their
// state files as they are. It waits for a file operation that is under way.
func (c *Coordinator) Close() error {
	c.closeOnce.Do(func() {
		close(c.done)
		c.turn <- struct{}{}
		for _, h := range c.held {
			c.drop(h)
		}
		<-c.turn
	})
	return nil
}

// do runs op in its turn. If ctx ends before op does, do returns and op runs on;
// undo then gets a grant that nobody has been told of.
func (c *Coordinator) do(ctx context.Context, name string, op func() (coord.Grant, error), undo func(coord.Grant)) (coord.Grant, error) {
	if c == nil || c.turn == nil {
		return coord.Grant{}, fmt.Errorf("%w: this static coordinator was not made by New", coord.ErrInvalid)
	}
	ended := func() error {
		return fmt.Errorf("%s static worker ID of namespace %q: %w", name, c.opts.Namespace, ctx.Err())
	}
	if ctx.Err() != nil {
		return coord.Grant{}, ended()
	}
	select {
	case c.turn <- struct{}{}:
	case <-c.done:
		return coord.Grant{}, coord.ErrClosed
	case <-ctx.Done():
		return coord.Grant{}, ended()
	}
	select {
	case <-c.done: // select is not fair to those who closed first
		<-c.turn
		return coord.Grant{}, coord.ErrClosed
	default:
	}
	var (
		grant coord.Grant
		err   error
		reply = make(chan struct{})
		gone  = make(chan struct{})
	)
	go func() {
		defer func() { <-c.turn }()
		grant, err = op()
		select {
		case reply <- struct{}{}:
		case <-gone:
			if undo != nil && err == nil {
				undo(grant)
			}
		}
	}()
	select {
	case <-reply:
		return grant, err
	case <-ctx.Done():
		close(gone)
		return coord.Grant{}, ended()
	}
}

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

func (c *Coordinator) acquire(req coord.Request) (coord.Grant, error) {
	for _, h := range c.held {
		if h.record.Token == req.Token {
			return h.grant(), nil
		}
	}
	first, err := c.workers(req)
	if err != nil {
		return coord.Grant{}, err
	}
	if err := c.checkLayouts(req, first); err != nil {
		return coord.Grant{}, err
	}
	var refusals []error
	for id := first; id < first+c.opts.Count; id++ {
		h, err := c.take(req, first, id)
		switch {
		case err == nil:
			c.held[id] = h
			return h.grant(), nil
		case !errors.Is(err, coord.ErrNoWorkerID):
			return coord.Grant{}, err
		}
		refusals = append(refusals, err)
	}
	if len(refusals) == 1 {
		return coord.Grant{}, refusals[0]
	}
	return coord.Grant{}, fmt.Errorf("%w in namespace %q: all %d are held: %w", coord.ErrNoWorkerID, c.opts.Namespace, len(refusals), errors.Join(refusals...))
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
		stored, err := load(path)
		if err == nil && stored.Namespace == c.opts.Namespace && stored.Layout != req.Fingerprint {
			return misplaced(path, stored.owned(pair{c.opts.Namespace, stored.Worker}, req.Fingerprint, req.LastTick))
		}
	}
	c.checked = req.Fingerprint
	return nil
}

// take acquires one worker ID: for this process, then by its lock, then on disk.
func (c *Coordinator) take(req coord.Request, first, id int) (_ *hold, err error) {
	h := &hold{pair: pair{c.opts.Namespace, id}, lastTick: req.LastTick}
	known, err := h.pair.claim()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			c.drop(h)
		}
	}()
	h.notBefore = known.notAfter
	h.record = record{
		Version: stateVersion, Namespace: c.opts.Namespace, Worker: id,
		Layout: req.Fingerprint, Generation: known.generation, Token: req.Token, Holder: req.Holder,
	}
	if c.opts.State == "" {
		if known.generation == 0 {
			// Whoever had the worker ID before this process may have been ahead of the
			// clock by so much.
			h.notBefore = max(h.notBefore, min(req.Now+req.Ahead, req.LastTick))
		}
	} else if err = c.open(h, req, first); err != nil {
		return nil, err
	}
	if err = h.pair.settle(req.Fingerprint); err != nil {
		return nil, err
	}
	h.record.Generation++
	h.record.NotAfter = max(h.notBefore, min(req.Until, req.LastTick))
	if h.path != "" {
		if err = c.storage.save(h.path, h.record); err != nil {
			return nil, err
		}
	}
	h.remember()
	return h, nil
}

// open locks and reads the state file of h and raises its NotBefore and generation
// to what is stored there.
func (c *Coordinator) open(h *hold, req coord.Request, first int) error {
	path, err := statePath(c.opts.State, first, h.pair.worker)
	if err != nil {
		return err
	}
	if h.lock, err = lock(path + ".lock"); err != nil {
		if !errors.Is(err, coord.ErrNoWorkerID) {
			return err
		}
		// Another worker ID's file by mistake is the better explanation.
		if r, err := load(path); err == nil && (r.Namespace != h.pair.namespace || r.Worker != h.pair.worker) {
			return misplaced(path, r.owned(h.pair, req.Fingerprint, req.LastTick))
		}
		return fmt.Errorf("worker ID %d of namespace %q: %w", h.pair.worker, h.pair.namespace, err)
	}
	h.path = path
	stored, err := load(path)
	switch {
	case err == nil:
		if err := stored.owned(h.pair, req.Fingerprint, req.LastTick); err != nil {
			return misplaced(path, err)
		}
		h.notBefore = max(h.notBefore, stored.NotAfter)
		h.record.Generation = max(h.record.Generation, stored.Generation)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	case !c.opts.AcceptFresh:
		// Lost or new, that cannot be told: a predecessor's window has ended when one
		// horizon has passed.
		h.notBefore = max(h.notBefore, min(max(req.Now, req.Until), req.LastTick))
		c.opts.Logger.Warn("state file is missing; waiting one horizon in case it was lost; fresh=true (Options.AcceptFresh) spares that at the first start of all", "state_file", path, "worker_id", h.pair.worker)
	}
	return nil
}

// misplaced adds the path to an error of record.owned.
func misplaced(path string, err error) error {
	return fmt.Errorf("state file %q: %w", path, err)
}

// find returns the hold of a grant, if file and memory agree that it is still its
// holder's.
func (c *Coordinator) find(g coord.Grant) (*hold, record, error) {
	lost := func(why string) error { return fmt.Errorf("%w: %v: %s", coord.ErrLeaseLost, g, why) }
	h := c.held[g.WorkerID]
	if h == nil {
		return nil, record{}, lost("this coordinator does not hold the worker ID")
	}
	if h.record.Token != g.Token || h.record.Generation != g.Generation {
		return nil, record{}, lost(fmt.Sprintf("it has generation %d now", h.record.Generation))
	}
	if h.path == "" {
		return h, h.record, nil
	}
	// A lock that others cannot find keeps nobody out. What is stored must be read
	// before that is asked: a process that comes later locks first and writes then.
	stored, err := load(h.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = lost(fmt.Sprintf("the state file %s was deleted", h.path))
	case err != nil:
		return h, record{}, err // perhaps only now; the holder keeps what it has
	case stored.Token != g.Token || stored.Generation != g.Generation ||
		stored.Namespace != h.pair.namespace || stored.Worker != h.pair.worker:
		err = lost(fmt.Sprintf("the state file %s was replaced: it has generation %d now", h.path, stored.Generation))
	case stored.Layout != h.record.Layout:
		err = lost(fmt.Sprintf("the state file %s was replaced: it has layout %s now", h.path, stored.Layout))
	case stored.NotAfter > h.lastTick:
		err = fmt.Errorf("%w state file %q: notAfter is %d; the layout ends at tick %d", coord.ErrInvalid, h.path, stored.NotAfter, h.lastTick)
	case !h.lock.Current():
		err = lost(fmt.Sprintf("the lock file %s was deleted", h.lock.Path()))
	}
	return h, stored, err
}

func (c *Coordinator) renew(g coord.Grant, until int64) (coord.Grant, error) {
	h, stored, err := c.find(g)
	if err != nil {
		if h != nil && errors.Is(err, coord.ErrLeaseLost) {
			c.drop(h)
		}
		return coord.Grant{}, err
	}
	next := h.record
	next.NotAfter = max(h.record.NotAfter, stored.NotAfter, min(until, h.lastTick))
	if h.path != "" && (h.unsure || next.NotAfter != stored.NotAfter) {
		h.unsure = true
		if err := c.storage.save(h.path, next); err != nil {
			return coord.Grant{}, fmt.Errorf("renew worker ID %d of namespace %q: %w", g.WorkerID, h.pair.namespace, err)
		}
		h.unsure = false
	}
	h.record = next
	h.remember()
	return h.grant(), nil
}

func (c *Coordinator) release(g coord.Grant, last int64) error {
	h, stored, err := c.find(g)
	if h != nil {
		defer c.drop(h)
	}
	if err != nil {
		return err
	}
	next := h.record
	next.Token = ""
	next.NotAfter = min(max(h.record.NotAfter, stored.NotAfter), max(last, h.notBefore))
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
func (h *hold) remember() { h.pair.remember(h.record.Generation, h.record.NotAfter) }

func (h *hold) grant() coord.Grant {
	return coord.Grant{
		WorkerID: h.pair.worker, Generation: h.record.Generation, Token: h.record.Token,
		NotBefore: h.notBefore, NotAfter: h.record.NotAfter,
	}
}
