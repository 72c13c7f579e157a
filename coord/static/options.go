package static

import (
	"log/slog"
	"math"
	"path/filepath"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/drivers"
	"github.com/unalike-id/unalike/internal/filestore"
	"github.com/unalike-id/unalike/internal/invalid"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

const (
	// DefaultNamespace is the namespace of a coordinator that is given none.
	DefaultNamespace = "default"
	// DefaultHorizon is how far ahead a window reaches: the longest wait at a start after a
	// crash.
	DefaultHorizon = 3 * time.Second
	// MaxHorizon is the longest horizon.
	MaxHorizon = coord.LongestHorizon
	// MaxAhead is how far ahead of the clock a generator may be without a state file, by its
	// Lead and its RollbackTolerance together, rounded up to ticks. A start waits for as long,
	// because its predecessor may have been so far ahead.
	MaxAhead = 5 * time.Millisecond

	// skewBound is by how much longer than a horizon a loss of the state file is waited out.
	skewBound = time.Second
)

// Options are the settings of [New] beyond the worker ID. The zero Options works.
type Options struct {
	// Namespace is the domain in which IDs are unique. Empty: "default".
	Namespace string
	// State is the path of the state file; its folder must exist. Empty: none, see the package
	// comment for what that costs.
	State string
	// AcceptFresh declares that nobody has ever used the worker ID if the state file is missing,
	// so that the first start need not wait. It is for first starts: left on, a lost state file
	// goes unnoticed.
	AcceptFresh bool
	// Count is how many worker IDs there are, from the given one on; a generator needs one for
	// each of its stripes. 0: one.
	Count int
	// Lease sets the times of the lease: Horizon and RenewEvery matter here. A horizon that is
	// longer than 3 s has to be set here, because a lost state file is waited out by it. Zero
	// fields: 3 s and a third of that. WorkerIDs and Identity must be zero.
	Lease coord.LeaseConfig
	// Clock tells the time of windows. Nil: the system's. Give the same clock to the generator.
	Clock clock.Clock
	// Logger receives what an operator may want to know. Nil: warnings go to slog.Default(), as
	// with core.Config.
	Logger *slog.Logger
}

// New returns a coordinator for the configured worker ID. Errors wrap [coord.ErrInvalid]. New
// touches no file; that is left to Acquire.
func New(worker int, opts Options) (coord.AdminCoordinator, error) {
	c, err := newCoordinator(source{first: int64(worker)}, opts)
	if err != nil {
		return nil, err // not a nil *coordinator in an interface that is not nil
	}
	return c, nil
}

// newCoordinator is New for any source of the worker ID.
func newCoordinator(src source, opts Options) (*coordinator, error) {
	if opts.Namespace == "" {
		opts.Namespace = DefaultNamespace
	}
	if err := driver.CheckNamespace(opts.Namespace); err != nil {
		return nil, err
	}
	if opts.Count == 0 {
		opts.Count = 1
	}
	if opts.Count < 0 || opts.Count > math.MaxInt32 {
		return nil, invalid.Errorf("Count is %d; it is the number of worker IDs, at least 1", opts.Count)
	}
	if err := src.check(opts.Count); err != nil {
		return nil, err
	}
	err := lifetime.Resolve(opts.Lease, new(time.Duration), &opts.Clock, &opts.Logger, MaxHorizon,
		skewBound)
	if err != nil {
		return nil, err
	}
	// Without a file nothing is lost that anybody could wait for.
	maxHorizon, place := MaxHorizon, ""
	if opts.State != "" {
		maxHorizon = max(DefaultHorizon, opts.Lease.Horizon)
		if place, err = filepath.Abs(opts.State); err != nil {
			return nil, invalid.Errorf("state file %q: %w", opts.State, err)
		}
		place = drivers.JoinPlace("static", place, opts.Namespace)
	}
	l := &leases{namespace: opts.Namespace}
	store := filestore.New(filestore.Options{
		Path: opts.State, Namespace: opts.Namespace,
		Clock: opts.Clock, Leases: l,
	})
	p, err := protocol.New(store, protocol.Settings{
		Driver: "static", Title: "the state file", Namespace: opts.Namespace, Place: place,
		Lease: opts.Lease, Default: coord.LeaseConfig{Horizon: DefaultHorizon}, MaxHorizon: maxHorizon,
		ShortOnly: "the option horizon says how long a state file that was lost is waited out",
		SkewBound: skewBound, OneMachine: true, ServerClock: true, Endless: true, InOrder: true,
		Forgets: opts.State != "" && !opts.AcceptFresh, //mutant:static-forgets
		Clock:   opts.Clock, Logger: opts.Logger,
	})
	if err != nil {
		return nil, err
	}
	c := &coordinator{Coordinator: p, opts: opts, source: src, store: store, leases: l}
	if !src.ip {
		l.use(coord.Range{First: int(src.first), Count: opts.Count})
	}
	return c, nil
}
