package local

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
)

const (
	// longestPause is the longest pause before an attempt that follows one which failed.
	longestPause = 500 * time.Millisecond
	// forever is how long a call waits that only its context ends.
	forever = time.Duration(1<<63 - 1)
)

// disk is what is known of the file. It is used by one attempt at a time, which opens the file if
// need be and stores all that is in memory by then. An attempt that hangs keeps nobody but itself.
type disk struct {
	open   bool // the file is loaded and locked
	busy   bool // an attempt is under way, or pauses before it begins
	begun  uint64
	ended  uint64        // the last attempt that has ended
	stored uint64        // the last one that has succeeded
	err    error         // of the last one that has ended
	since  time.Time     // when the last one has begun, or ended
	took   time.Duration // what the last one has taken
	tried  chan struct{} // closed, and made anew, after each
}

// store returns when what is in memory now is on the disk, or when enough, if it is not nil,
// reports that what is there will do. The error is that of the attempt, or names the file and says
// that it has not ended within ctx.
func (c *coordinator) store(ctx context.Context, enough func() bool) error {
	d := &c.disk
	for need := d.begun + 1; d.ended < need; {
		if !d.busy {
			d.busy = true
			go c.attempt()
		}
		if enough != nil && enough() {
			return nil
		}
		if err := c.await(ctx, forever, d.tried); err != nil && d.ended < need {
			if d.err != nil {
				return d.err
			}
			return fmt.Errorf("state file %q is not written yet, its disk has not answered for %v: %w",
				c.file.Path(), lifetime.Since(d.since).Round(time.Millisecond),
				&fs.PathError{Op: "write", Path: c.file.Path(), Err: err})
		}
	}
	return d.err
}

// storeOnce is store for what every attempt from a certain one on stores.
func (c *coordinator) storeOnce(ctx context.Context, from uint64) error {
	stored := func() bool { return c.disk.stored >= from }
	if stored() {
		return nil
	}
	return c.store(ctx, stored)
}

// await waits for an end, at most as long as limit.
func (c *coordinator) await(ctx context.Context, limit time.Duration, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c.unlock()
	defer c.mu.Lock()
	select {
	case <-ended:
		return nil
	case <-c.life.Context().Done():
		return coord.ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// attempt opens the file, if it is not open, and stores all grants, with marks as far ahead as the
// clocks of their holders allow.
func (c *coordinator) attempt() {
	c.mu.Lock()
	defer c.unlock()
	d := &c.disk
	if d.err != nil { // a pause, so that a disk which fails is not asked a million times
		pause := min(c.window/10, longestPause)
		_ = c.await(context.Background(), pause/2+rand.N(pause/2), nil)
	}
	d.begun++
	d.since = lifetime.Now()
	var err error
	if !d.open {
		err = c.openFile()
	}
	if err == nil {
		err = c.save()
	}
	if err == nil {
		d.stored = d.begun
	}
	d.took = lifetime.Since(d.since)
	d.ended, d.err, d.busy, d.since = d.begun, err, false, lifetime.Now()
	close(d.tried)
	d.tried = make(chan struct{})
	if c.life.Context().Err() != nil {
		c.free()
	}
}

// openFile opens the file and takes over what is in it.
func (c *coordinator) openFile() (err error) {
	if c.life.Context().Err() != nil {
		return coord.ErrClosed
	}
	var grants []*entry
	var why string
	c.unlocked(func() { why, err = c.file.Load(&grants) })
	if err != nil {
		return err
	}
	if c.disk.open, c.entries = true, grants; why != "" {
		c.warn("the state file is not used, another worker ID is leased", "state_file", c.file.Path(),
			"reason", why)
	}
	return nil
}

// save stores what is in memory.
func (c *coordinator) save() error {
	var grants []*entry
	marks := map[*heldGrant]int64{}
	for _, h := range c.held {
		if !h.releasing {
			h.raise(h.tick() + h.window)
			marks[h] = h.entry.Mark
		}
	}
	for _, e := range c.entries {
		now := *e
		grants = append(grants, &now)
	}
	c.unlock()
	err := c.file.Save(grants)
	c.mu.Lock()
	if err != nil {
		return err
	}
	for h, mark := range marks {
		h.stored = max(h.stored, mark)
	}
	return nil
}

// free closes the file.
func (c *coordinator) free() {
	c.disk.open = false
	_ = c.file.Close()
}
