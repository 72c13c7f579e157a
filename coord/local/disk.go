package local

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
)

// longestPause is the longest pause after an attempt that failed; the first is shortestPause.
const (
	shortestPause = 20 * time.Millisecond
	longestPause  = 500 * time.Millisecond
)

// disk is what is known of the file. It is used by one attempt at a time, which opens the file if
// need be and stores all that is in memory by then. An attempt that hangs keeps nobody but itself.
type disk struct {
	file   *file // nil: not opened yet
	busy   bool  // an attempt is under way, or pauses before it begins
	begun  uint64
	ended  uint64 // the last attempt that has ended
	stored uint64 // the last one that has succeeded
	err    error  // of the last one that has ended
	pause  time.Duration
	since  time.Time     // when the last one has begun, or ended
	took   time.Duration // what the last one has taken
	tried  chan struct{} // closed, and made anew, after each
}

// store returns when what is in memory now is on the disk, or when enough, if it is not nil, reports
// that what is there will do. The error is that of the attempt, or names the file and says that it
// has not ended within ctx. The caller holds mu, which is given up meanwhile.
func (c *Coordinator) store(ctx context.Context, enough func() bool) error {
	d := &c.disk
	for need := d.begun + 1; ; {
		switch {
		case d.ended >= need:
			return d.err
		case c.life.Context().Err() != nil:
			return coord.ErrClosed
		case !d.busy:
			d.busy = true
			go c.attempt()
		}
		if enough != nil && enough() {
			return nil
		}
		tried := d.tried
		c.unlocked(func() {
			select {
			case <-tried:
			case <-ctx.Done():
			case <-c.life.Context().Done():
			}
		})
		if ctx.Err() != nil && d.ended < need {
			if d.err != nil {
				return d.err
			}
			return fmt.Errorf("state file %q is not written yet, its disk has not answered for %v: %w",
				c.path, lifetime.Since(d.since).Round(time.Millisecond), context.Cause(ctx))
		}
	}
}

// storeOnce is store for what every attempt from a certain one on stores.
func (c *Coordinator) storeOnce(ctx context.Context, from uint64) error {
	stored := func() bool { return c.disk.stored >= from }
	if stored() {
		return nil
	}
	return c.store(ctx, stored)
}

// attempt opens the file, if it is not open, and stores all grants, with marks as far ahead as the
// clocks of their holders allow.
func (c *Coordinator) attempt() {
	c.mu.Lock()
	defer c.unlock()
	d := &c.disk
	if d.err != nil { // a pause, so that a disk which fails is not asked a million times
		d.pause = min(max(2*d.pause, shortestPause), longestPause)
		pause, cancel := context.WithTimeout(c.life.Context(), d.pause/2+rand.N(d.pause/2))
		c.unlocked(func() { <-pause.Done() })
		cancel()
	}
	d.begun++
	d.since = lifetime.Now()
	err := c.openFile()
	if err == nil {
		err = c.save()
	}
	if err == nil {
		d.stored, d.pause = d.begun, 0
	}
	d.took = lifetime.Since(d.since)
	d.ended, d.err, d.busy, d.since = d.begun, err, false, lifetime.Now()
	close(d.tried)
	d.tried = make(chan struct{})
	if c.life.Context().Err() != nil {
		c.free()
	}
}

// openFile opens the file, unless it is open, and takes over what is in it. The caller holds mu,
// which is given up meanwhile.
func (c *Coordinator) openFile() (err error) {
	if c.disk.file != nil {
		return nil
	}
	if c.life.Context().Err() != nil {
		return coord.ErrClosed
	}
	var f *file
	var found *record
	var why string
	c.unlocked(func() { f, found, why, err = openFile(c.path, c.sys, c.window) })
	if err != nil {
		return err
	}
	if c.disk.file = f; why != "" {
		c.warn("the state file is not used, another worker ID is leased", "state_file", f.path, "reason", why)
	}
	if found != nil {
		c.entries = found.Grants
	}
	return nil
}

// save stores what is in memory. The caller holds mu, which is given up meanwhile.
func (c *Coordinator) save() (err error) {
	r, marks := &record{Grants: []*entry{}}, map[*heldGrant]int64{}
	for _, h := range c.held {
		if !h.releasing {
			h.raise(h.tick() + h.window)
			marks[h] = h.entry.Mark
		}
	}
	for _, e := range c.entries {
		r.Grants = append(r.Grants, e.snapshot())
	}
	f := c.disk.file
	c.unlocked(func() { err = f.save(r) })
	if err != nil {
		return err
	}
	for h, mark := range marks {
		h.stored = max(h.stored, mark)
	}
	return nil
}

// closeFile frees the file. An attempt that does not end within a time frees it itself: a write
// must not outlive the lock.
func (c *Coordinator) closeFile(limit time.Duration) error {
	c.mu.Lock()
	defer c.unlock()
	if tried := c.disk.tried; c.disk.busy {
		moment := time.NewTimer(limit)
		defer moment.Stop()
		c.unlocked(func() {
			select {
			case <-tried:
			case <-moment.C:
			}
		})
	}
	if c.disk.busy {
		return fmt.Errorf("state file %q: its disk has not answered for %v: it stays locked, and no other process can use it, until the disk answers or this process ends",
			c.path, lifetime.Since(c.disk.since).Round(time.Millisecond))
	}
	c.free()
	return nil
}

// free closes the file. The caller holds mu.
func (c *Coordinator) free() {
	if c.disk.file != nil {
		c.disk.file.close()
		c.disk.file = nil
	}
}
