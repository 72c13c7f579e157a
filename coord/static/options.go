package static

import (
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/logs"
)

const (
	// DefaultNamespace is the namespace of a coordinator that is given none.
	DefaultNamespace = "default"
	// DefaultHorizon is how far ahead a window reaches: the longest wait at a start
	// after a crash. A third of it, the interval of renewals, and a write to the disk
	// that takes 2.5 s end inside it.
	DefaultHorizon = 4 * time.Second
	// MaxHorizon is the longest horizon. A state file whose window ends further ahead
	// of the clock than that is refused.
	MaxHorizon = 24 * time.Hour
	// MaxAhead is how far ahead of the clock a generator may be without a state file,
	// by its Lead and its RollbackTolerance together, rounded up to ticks. A start
	// waits for as long, because its predecessor may have been so far ahead.
	MaxAhead = 5 * time.Millisecond
)

// Options are the settings of [New] beyond the worker ID. The zero Options
// works.
type Options struct {
	// Namespace is the domain in which IDs are unique. Empty: "default".
	Namespace string
	// State is the path of the state file; its folder must exist. Empty: none, see
	// the package comment for what that costs.
	State string
	// AcceptFresh declares that nobody has ever used the worker ID if the state file
	// is missing, so that the first start need not wait. It is for first starts: left
	// on, a lost state file goes unnoticed.
	AcceptFresh bool
	// Count is how many worker IDs there are, from the given one on; a generator
	// needs one for each of its stripes. 0: one.
	Count int
	// Lease sets the times of the lease: Horizon and RenewEvery matter here. Zero
	// fields: 4 s and a third of that. WorkerIDs and Identity must be zero.
	Lease coord.LeaseConfig
	// Logger receives what an operator may want to know. Nil: warnings go to
	// slog.Default(), as with core.Config.
	Logger *slog.Logger
}

// New returns a coordinator for the configured worker ID. Errors wrap
// [coord.ErrInvalid]. New touches no file; that is left to Acquire.
func New(worker int, opts Options) (*Coordinator, error) {
	return newCoordinator(fixed(int64(worker)), opts)
}

// newCoordinator is New for any source of the worker ID.
func newCoordinator(src source, opts Options) (*Coordinator, error) {
	if opts.Namespace == "" {
		opts.Namespace = DefaultNamespace
	}
	opts.Logger = logs.Or(opts.Logger)
	if err := driver.CheckNamespace(opts.Namespace); err != nil {
		return nil, err
	}
	if opts.Count == 0 {
		opts.Count = 1
	}
	if opts.Count < 0 || opts.Count > math.MaxInt32 {
		return nil, fmt.Errorf("%w: Count is %d; it is the number of worker IDs, at least 1",
			coord.ErrInvalid, opts.Count)
	}
	if err := src.check(opts.Count); err != nil {
		return nil, err
	}
	if l := opts.Lease; l.WorkerIDs != (coord.Range{}) || l.Identity != "" {
		return nil, fmt.Errorf("%w: Lease.WorkerIDs is %v and Lease.Identity is %q; both must be zero, a static coordinator has the worker IDs that it is given",
			coord.ErrInvalid, l.WorkerIDs, l.Identity)
	}
	c := &Coordinator{
		opts:    opts,
		source:  src,
		storage: realStorage(),
		held:    map[int]*hold{},
		turn:    make(chan struct{}, 1),
		done:    make(chan struct{}),
		calls:   map[callKey]*call{},
	}
	if _, err := driver.ResolveLease(c.Describe().Rules, coord.LeaseConfig{}); err != nil {
		return nil, err
	}
	return c, nil
}

// Describe implements [coord.Describer]: a horizon of 4 s, renewed every third of that.
func (c *Coordinator) Describe() coord.Description {
	d := coord.Description{Rules: coord.LeaseRules{Default: coord.LeaseConfig{Horizon: DefaultHorizon}, MaxHorizon: MaxHorizon}}
	if c == nil {
		return d
	}
	d.Rules.Set, d.Rules.Workers = c.opts.Lease, c.opts.Count
	switch {
	case c.opts.State == "":
		d.Warnings = []string{"static worker ID without a state file: restarts after a step of the clock, and other processes with the same worker ID, are not protected against"}
	case c.opts.AcceptFresh:
		d.Warnings = []string{"fresh is set: a state file that was lost is taken for one that never was; unset it after the first start"}
	}
	return d
}
