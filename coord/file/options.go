package file

import (
	"errors"
	"log/slog"
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
	// MinTTL is the shortest TTL.
	MinTTL = 3 * time.Second
	// DefaultTTL is the TTL of a coordinator that is given none.
	DefaultTTL = 5 * time.Second
	// MaxHorizon is the longest horizon, and the default. It is a constant, because after a loss
	// of the file it is all that is known of the windows that were lost.
	MaxHorizon = 3 * time.Second

	// skewBound is by how much longer than MaxHorizon a loss is waited out.
	skewBound = time.Second
)

// Options are the settings of [New] beyond the path. The zero Options works.
type Options struct {
	// Namespace is the domain in which IDs are unique, which the file belongs to. Empty:
	// "default".
	Namespace string
	// Lease sets the times of the lease, for all generators that use this coordinator. Zero
	// fields: TTL 5 s, Horizon 3 s, RenewEvery 1 s. WorkerIDs and Identity must be zero; they
	// belong in the generator's configuration.
	Lease coord.LeaseConfig
	// Clock tells the time of windows. Nil: the system's. Give the same clock to the generator.
	Clock clock.Clock
	// Logger receives what an operator may want to know. Nil: warnings go to slog.Default(), as
	// with core.Config.
	Logger *slog.Logger
}

// New returns a coordinator for the namespace in the file at path, whose folder must exist. It
// touches no file; the first call makes one. Errors wrap [coord.ErrInvalid].
func New(path string, opts Options) (coord.AdminCoordinator, error) {
	if path == "" {
		return nil, invalid.Errorf("the path is empty; name a file")
	}
	if opts.Namespace == "" {
		opts.Namespace = DefaultNamespace
	}
	if err := driver.CheckNamespace(opts.Namespace); err != nil {
		return nil, err
	}
	if err := lifetime.Resolve(opts.Lease, new(time.Duration), &opts.Clock, &opts.Logger, MaxHorizon,
		skewBound); err != nil {
		return nil, err
	}
	leases, err1 := filestore.TimedLeases("unalike quarantine --coordinator")
	place, err2 := filepath.Abs(path)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	store := filestore.New(filestore.Options{
		Path: path, Namespace: opts.Namespace,
		Clock: opts.Clock, Leases: leases, Fresh: true,
	})
	return protocol.Public(protocol.New(store, protocol.Settings{
		Driver: "file", Title: "the file", Namespace: opts.Namespace,
		Place: drivers.JoinPlace("file", place, opts.Namespace),
		Lease: opts.Lease, Default: coord.LeaseConfig{TTL: DefaultTTL, Horizon: MaxHorizon},
		MinTTL: MinTTL, MaxHorizon: MaxHorizon,
		ShortOnly: "a lost file is waited out for as long, whatever it was declared with",
		SkewBound: skewBound, OneMachine: true, ServerClock: true, Forgets: true, Clock: opts.Clock,
		Logger: opts.Logger,
	}))
}
