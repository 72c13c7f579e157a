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
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/logs"
	"github.com/unalike-id/unalike/internal/statefile"
)

// coordinator wraps the coordinator of a back end and keeps its grants in a state file. Make it
// with [New]. It is safe for concurrent use. What an operator asks for is passed on; after an Init,
// files with windows of the namespace that was there before are refused until they are deleted.
//
// Unexported methods are called with mu held. Those that wait give it up meanwhile, and so does
// whatever calls them.
type coordinator struct {
	coord.AdminCoordinator // of the back end, for operators
	remote                 wrapped
	file                   *statefile.File // used by one attempt of disk at a time
	place                  string
	window                 time.Duration
	log                    *slog.Logger
	life                   *lifetime.Life
	outages                sync.Map // of each held grant, by its token, the coord.Outage

	mu        sync.Mutex // guards what follows; whoever has it calls unlock
	news      []func()   // what is to be logged when it is unlocked
	entries   []*entry   // what is in the file, or is to be
	held      map[string]*heldGrant
	acquiring map[string]chan struct{} // closed when the acquisition with a token has ended
	// above which tick nothing was stamped under a grant that was lost
	lostMarks map[slot]int64
	disk      disk
}

// wrapped is what New needs of a coordinator.
type wrapped interface {
	coord.AdminCoordinator
	coord.Resumer
}

// slot is a worker ID of a layout.
type slot struct {
	worker int
	layout string
}

var _ interface {
	coord.AdminCoordinator
	coord.Notifier
	coord.Outlasting
} = (*coordinator)(nil)

// New returns a coordinator that keeps what c grants in a file, and owns c: Close closes it.
// The folder of the file must exist. New touches no file; that is left to Acquire, which
// waits while another process has the file. Errors wrap [coord.ErrInvalid].
func New(c coord.Coordinator, file string, opts Options) (coord.AdminCoordinator, error) {
	l, err := build(c, file, opts, nil)
	if err != nil {
		return nil, err // not a nil *coordinator in an interface that is not nil
	}
	return l, nil
}

// build is New on a machine; nil: this one.
func build(c coord.Coordinator, file string, opts Options,
	machine *statefile.System,
) (*coordinator, error) {
	opts.Window = cmp.Or(opts.Window, DefaultWindow)
	remote, ok := c.(wrapped)
	switch {
	case !ok:
		return nil, fmt.Errorf("%w: a %T has no state file: its grants cannot be resumed and its "+
			"namespace administered (coord.Resumer, coord.AdminCoordinator)", coord.ErrInvalid, c)
	case file == "":
		return nil, fmt.Errorf("%w: the name of the state file is empty; name a file in a folder "+
			"that exists", coord.ErrInvalid)
	case opts.Window < MinWindow || opts.Window > MaxWindow:
		return nil, fmt.Errorf("%w: Window is %v; %v to %v are allowed", coord.ErrInvalid, opts.Window,
			MinWindow, MaxWindow)
	}
	l := &coordinator{
		AdminCoordinator: remote, remote: remote,
		file:   statefile.New(file, statefile.Options{Window: opts.Window, System: machine}),
		place:  cmp.Or(coord.Describe(c).Place, opts.Place),
		window: opts.Window,
		//mutant:local-log
		log: logs.Or(opts.Logger), life: lifetime.Begin("state file", file),
		held: map[string]*heldGrant{}, acquiring: map[string]chan struct{}{}, lostMarks: map[slot]int64{},
		disk: disk{tried: make(chan struct{})},
	}
	if _, err := l.Describe().Rules.Resolve(coord.LeaseConfig{}); err != nil {
		return nil, err
	}
	return l, nil
}

// survives reports whether a grant in the file is gone on with after a crash, so that it may have
// a longer window than the driver has by itself.
func (c *coordinator) survives() bool { return c.place != "" && c.file.ServesRestart() }

// Describe implements [coord.AdminCoordinator]. The rules are those of the back end, but a
// generator has its window extended in the file as often as the file's short windows need it. The
// interval of the renewals in the back end is set in its URL or options.
func (c *coordinator) Describe() coord.Description {
	d := coord.Describe(c.remote)
	d.Place = c.place
	d.Rules.MaxRenewEvery, d.Rules.Surviving = c.window*5/12, c.survives()
	switch {
	case !c.file.ServesRestart():
		d.Warnings = append(slices.Clip(d.Warnings), "the state file is not used on this system: it "+
			"does not tell whether the machine was started again since")
	case c.place == "":
		d.Warnings = append(slices.Clip(d.Warnings), "the state file is not used without the back end: "+
			"its coordinator does not say where its namespace lives")
	}
	return d
}

// unlock unlocks mu, and logs what has happened meanwhile.
func (c *coordinator) unlock() {
	news := c.news
	c.news = nil
	c.mu.Unlock()
	for _, tell := range news {
		tell()
	}
}

// warn has a warning logged when mu is unlocked.
func (c *coordinator) warn(msg string, attrs ...any) {
	c.news = append(c.news, func() { c.log.Warn(msg, attrs...) })
}

// unlocked runs f, which may take long, without mu.
func (c *coordinator) unlocked(f func()) {
	c.unlock()
	defer c.mu.Lock()
	f()
}

// begin reports whether a call may begin. It needs no mu.
func (c *coordinator) begin(ctx context.Context, what string) error {
	switch {
	case c.life.Context().Err() != nil:
		return coord.ErrClosed
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", what, context.Cause(ctx))
	}
	return nil
}

// Close ends what is under way, frees the file and closes the coordinator that is wrapped. It
// releases no grant: what is in the file stays there, as after a crash. It waits for a write to
// the file for a second at most. The error says so if that has not ended: the file stays locked
// then, and no other process can use it, until the disk answers or this process ends.
func (c *coordinator) Close() error {
	err := c.remote.Close()
	c.life.End()
	c.mu.Lock()
	defer c.unlock()
	if tried := c.disk.tried; c.disk.busy {
		c.unlocked(func() {
			select {
			case <-tried:
			case <-time.After(time.Second):
			}
		})
	}
	if c.disk.busy { // it frees the file itself: a write must not outlive the lock
		return fmt.Errorf("state file %q: its disk has not answered for %v: it stays locked, and no "+
			"other process can use it, until the disk answers or this process ends",
			c.file.Path(), lifetime.Since(c.disk.since).Round(time.Millisecond))
	}
	c.free()
	return err
}
