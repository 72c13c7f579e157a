package local

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
)

// saver writes the file, one record at a time. Whoever wants something to be stored waits for
// the first record that was made after that.
type saver struct {
	busy         bool
	wanted, made uint64    // how often something was to be stored; and of what record was made last
	stored       uint64    // what is on the disk
	failed       uint64    // what could not be stored
	err          error     // why
	failing      time.Time // since when nothing could be stored; zero: it could
	began        time.Time
	took         time.Duration // to write the last record
	tried        chan struct{} // closed, and made anew, after each attempt
}

// diskError says that something could not be stored.
type diskError struct{ err error }

func (e *diskError) Error() string { return e.err.Error() }
func (e *diskError) Unwrap() error { return e.err }

// store returns when what is in memory now is on the disk. It is called with mu held, and
// gives it up while it waits.
func (c *Coordinator) store(ctx context.Context) error {
	return c.storeUnless(ctx, math.MaxInt64, never)
}

func never() bool { return false }

// storeOnce is store for what is in every record from a certain one on. None is written if that is on the disk, and who waits
// for another attempt to write it, on a slow disk, waits no longer than that takes.
func (c *Coordinator) storeOnce(ctx context.Context, from uint64) error {
	stored := func() bool { return c.saver.stored >= from }
	if stored() {
		return nil
	}
	return c.storeUnless(ctx, math.MaxInt64, stored)
}

// storeUnless is store, and gives up with errDiskHangs if it has waited for one record for longer than patience. A record
// that was made before does if it is enough.
func (c *Coordinator) storeUnless(ctx context.Context, patience time.Duration, enough func() bool) error {
	s := &c.saver
	s.wanted++
	mine := s.wanted
	if c.file == nil {
		return coord.ErrClosed
	}
	if !s.busy {
		s.busy, s.began = true, lifetime.Now()
		go c.save() // a disk that hangs must not keep Close
	}
	for {
		switch {
		case s.stored >= mine:
			return nil
		case s.failed >= mine:
			return &diskError{s.err}
		}
		if err := c.nextTry(ctx, patience); err != nil || enough() {
			return err
		}
	}
}

// judgeDisk gives the file up if its disk has answered to this process, and has failed or said nothing for a whole window, but
// not because of a hiccup in a short one: then worker IDs are leased from now on that the file does not name. They begin above
// all that was granted before, whatever the file still says. The caller holds mu.
func (c *Coordinator) judgeDisk() {
	s, limit := &c.saver, max(c.window, DefaultWindow)
	why := s.err
	switch {
	case c.disk != nil || s.stored == 0:
		return
	case s.busy && lifetime.Since(s.began) >= limit:
		why = c.unwritten(s.began, errDiskHangs)
	case s.busy || s.failing.IsZero() || s.began.Sub(s.failing) < limit: // one attempt that failed, however long ago, is a hiccup
		return
	}
	c.disk, c.since = why, s.wanted
	c.log.Error("the state file cannot be written, worker IDs are leased without it; it is used again when the process is started again, or if there is no other and the file can be written again",
		"state_file", c.path, "error", why)
}

// nextTry waits until the record that is being written is on the disk, or has failed. It waits until ctx ends, and no shorter:
// a caller whose time is not over takes an error for an answer, and gives the next call no more time. The caller holds mu,
// which is given up meanwhile.
func (c *Coordinator) nextTry(ctx context.Context, patience time.Duration) error {
	tried, since := c.saver.tried, c.saver.began
	hangs := time.NewTimer(patience)
	defer hangs.Stop()
	c.mu.Unlock()
	defer c.mu.Lock()
	var why error
	select {
	case <-tried:
		return nil
	case <-c.life.Context().Done():
		return coord.ErrClosed
	case <-ctx.Done():
		if why = context.Cause(ctx); errors.Is(why, context.DeadlineExceeded) {
			why = errDiskLate // which tells more
		}
	case <-hangs.C:
		why = errDiskHangs
	}
	return c.unwritten(since, why)
}

// unwritten says that a record which was begun at a time is not written yet.
func (c *Coordinator) unwritten(since time.Time, why error) error {
	return fmt.Errorf("state file %q %w, after %v: %w", c.path, errUnwritten, lifetime.Since(since).Round(time.Millisecond), why)
}

var (
	errUnwritten = errors.New("is not written yet")
	errDiskLate  = errors.New("no time is left to wait for its disk")
	errDiskHangs = errors.New("its disk does not answer")
)

// save writes records for as long as there is something to be stored.
func (c *Coordinator) save() {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.saver
	for s.made != s.wanted && c.life.Context().Err() == nil {
		s.made, s.began = s.wanted, lifetime.Now()
		r := &record{Grants: []*entry{}}
		marks := map[*hold]int64{}
		for _, h := range c.holds {
			if !h.releasing {
				h.raise(h.tick() + h.window)
			}
			marks[h] = h.entry.Mark
		}
		for _, e := range c.entries {
			e.shed()
			r.Grants = append(r.Grants, e.clone())
		}
		f := c.file
		c.mu.Unlock()
		err := f.save(r)
		c.mu.Lock()
		s.took = lifetime.Since(s.began)
		if err != nil {
			s.failed, s.err = s.made, err
			if s.failing.IsZero() {
				s.failing = lifetime.Now()
			}
		} else {
			s.stored, s.failing = s.made, time.Time{}
			for h, mark := range marks {
				h.safe = max(h.safe, mark)
			}
		}
		s.busy = s.made != s.wanted && c.life.Context().Err() == nil
		close(s.tried)
		s.tried = make(chan struct{})
	}
	s.busy = false
	if c.life.Context().Err() != nil {
		close(s.tried)
		s.tried = make(chan struct{})
	}
	if c.life.Context().Err() != nil && c.file != nil {
		c.file.close()
		c.file = nil
	}
}
