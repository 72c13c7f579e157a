package local

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/logs"
)

// Coordinator wraps the coordinator of a back end and keeps its grants in a state file. It is
// safe for concurrent use.
type Coordinator struct {
	inner  wrapped
	path   string // of the file, as it was given
	place  string
	window time.Duration
	log    *slog.Logger
	life   *lifetime.Life
	sys    system

	opening chan struct{} // held while the file is opened

	mu      sync.Mutex // guards what follows
	file    *file      // nil: not opened yet
	entries []*entry   // what is in the file, or is to be
	holds   map[string]*hold
	asking  map[string]chan struct{} // the acquisitions under way, by their tokens
	bares   map[name]int64           // by how many ticks the windows of grants that the file does not name are shorter than asked for
	aliases map[string]string        // with which tokens they were leased, where that is not their own
	fates   map[name]error           // of grants that were held and are not any more
	passed  map[slot]int64           // above which tick nothing was stamped under a grant that was lost
	heard   map[string]answer        // which namespace it is, by the tokens of the acquisitions that have asked
	disk    error                    // why the file is not used any more; nil: it is
	since   uint64                   // the last record that was wanted by then
	saver   saver
}

// wrapped is what New needs of a coordinator.
type wrapped interface {
	coord.Coordinator
	coord.Resumer
	Inspect(ctx context.Context) (coord.Namespace, error)
}

var (
	_ coord.Coordinator = (*Coordinator)(nil)
	_ coord.Resumer     = (*Coordinator)(nil)
	_ coord.Describer   = (*Coordinator)(nil)
	_ coord.Notifier    = (*Coordinator)(nil)
	_ coord.Admin       = (*Coordinator)(nil)
	_ coord.Outlasting  = (*Coordinator)(nil)
)

// New returns a coordinator that keeps what c grants in a file, and owns c: Close closes it.
// The folder of the file must exist. New touches no file; that is left to Acquire, which
// waits while another process has the file. Errors wrap [coord.ErrInvalid].
func New(c coord.Coordinator, file string, opts Options) (*Coordinator, error) {
	if opts.Window == 0 {
		opts.Window = DefaultWindow
	}
	inner, ok := c.(wrapped)
	switch {
	case !ok:
		return nil, fmt.Errorf("%w: a %T has no state file: its grants cannot be resumed", coord.ErrInvalid, c)
	case file == "":
		return nil, fmt.Errorf("%w: the name of the state file is empty; name a file in a folder that exists", coord.ErrInvalid)
	case opts.Window < MinWindow || opts.Window > MaxWindow:
		return nil, fmt.Errorf("%w: Window is %v; %v to %v are allowed", coord.ErrInvalid, opts.Window, MinWindow, MaxWindow)
	}
	l := &Coordinator{
		inner: inner, path: file, window: opts.Window, log: logs.Or(opts.Logger), sys: realSystem(),
		life: lifetime.Begin("state file", file), opening: make(chan struct{}, 1),
		holds: map[string]*hold{}, asking: map[string]chan struct{}{}, bares: map[name]int64{},
		aliases: map[string]string{}, fates: map[name]error{}, passed: map[slot]int64{}, heard: map[string]answer{},
	}
	l.saver.tried = make(chan struct{})
	l.place = cmp.Or(coord.Describe(c).Place, opts.Place)
	if _, err := driver.ResolveLease(l.Describe().Rules, coord.LeaseConfig{}); err != nil {
		return nil, err
	}
	return l, nil
}

// Close ends what is under way, frees the file and closes the coordinator that is wrapped. It
// releases no grant. What is in the file stays there, as after a crash. A write to the file that
// is under way is waited for, though not for longer than a second: then it frees the file itself.
func (c *Coordinator) Close() error {
	if c == nil || c.inner == nil {
		return errNotMade
	}
	err := c.inner.Close()
	c.life.End()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.saver.busy {
		tried := c.saver.tried
		c.mu.Unlock()
		moment := time.NewTimer(time.Second)
		select {
		case <-tried:
		case <-moment.C:
		}
		moment.Stop()
		c.mu.Lock()
	}
	if c.file != nil && !c.saver.busy { // else whoever writes it frees it: a write must not outlive the lock
		c.file.close()
		c.file = nil
	}
	return err
}

var errNotMade = fmt.Errorf("%w: this coordinator was not made by local.New", coord.ErrInvalid)

// begin reports whether a call may begin.
func (c *Coordinator) begin(ctx context.Context, what string) error {
	switch {
	case c == nil || c.inner == nil:
		return errNotMade
	case c.life.Context().Err() != nil:
		return coord.ErrClosed
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", what, context.Cause(ctx))
	}
	return nil
}

// open opens the file if need be.
func (c *Coordinator) open(ctx context.Context) error {
	select {
	case c.opening <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("open state file %q: %w", c.path, context.Cause(ctx))
	}
	c.mu.Lock()
	opened := c.file != nil || c.disk != nil
	c.mu.Unlock()
	if opened {
		<-c.opening
		return nil
	}
	done := make(chan error, 1)
	go func() { // a disk that hangs keeps nobody but this
		defer func() { <-c.opening }()
		f, found, why, err := openFile(c.path, c.sys)
		if err == nil {
			c.adopt(f, found, why)
		}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("open state file %q: the disk does not answer: %w", c.path, context.Cause(ctx))
	case <-c.life.Context().Done():
		return coord.ErrClosed
	}
}

// adopt takes over a file that was opened.
func (c *Coordinator) adopt(f *file, found *record, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.life.Context().Err() != nil {
		f.close()
		return
	}
	c.file = f
	switch {
	case why != "":
		c.log.Warn("the state file is not used, another worker ID is leased", "state_file", f.path, "reason", why)
	case found != nil:
		for _, e := range found.Grants {
			if e.elsewhere = e.Place != c.place; e.elsewhere { // only the back end can tell whether it is the same all the same
				c.log.Warn("a grant in the state file is of another namespace", "state_file", f.path, "worker_id", e.Worker, "place", c.place, "its_place", e.Place)
			}
		}
		c.entries = found.Grants
	}
}

// dropLost forgets an entry of which the back end knows nothing any more, but not how far it may have been stamped. The caller
// holds mu.
func (c *Coordinator) dropLost(e *entry) {
	if at := (slot{e.Worker, e.Layout}); !e.elsewhere {
		c.passed[at] = max(c.passed[at], e.Mark)
	}
	c.drop(e)
}

// slot is a worker ID of a layout.
type slot struct {
	worker int
	layout string
}

// drop forgets an entry. The caller holds mu.
func (c *Coordinator) drop(e *entry) {
	c.entries = slices.DeleteFunc(c.entries, func(o *entry) bool { return o == e })
}
