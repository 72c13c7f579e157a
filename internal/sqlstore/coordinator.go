package sqlstore

import (
	"context"
	"errors"
	"slices"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/drivers"
	"github.com/unalike-id/unalike/internal/invalid"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/sqldb"
)

// Database is a [DB] that a coordinator has.
type Database interface {
	DB
	// Check returns an error if the pool cannot be used.
	Check() error
	// Place is where the database is; none: that is not known.
	Place() []string
	// Close frees what was made for the coordinator.
	Close() error
}

// New returns the coordinator of a namespace. It contacts nobody.
func New(db Database, d Dialect, namespace string, o Options) (*protocol.Coordinator, error) {
	if err := db.Check(); err != nil {
		return nil, invalid.Errorf("%w", err)
	}
	if err := driver.CheckNamespace(namespace); err != nil {
		return nil, err
	}
	o, err := o.Resolve()
	if err != nil {
		return nil, err
	}
	for _, name := range o.Accept {
		if !slices.ContainsFunc(d.Risks, func(r sqldb.Risk) bool { return r.Name == name }) {
			return nil, invalid.Errorf("Accept has %q; known are %s", name, d.risks())
		}
	}
	place := ""
	if at := db.Place(); len(at) > 0 {
		place = drivers.JoinPlace(d.Driver, append(at, o.Prefix, namespace)...)
	}
	return protocol.New(NewStore(db, d, namespace, o), protocol.Settings{
		Driver: d.Driver, Place: place, Title: d.Title, Namespace: namespace, Lease: o.Lease,
		MinTTL: MinTTL, MaxHorizon: MaxHorizon,
		SkewBound: o.SkewBound, Clock: o.Clock, Logger: o.Logger, ServerClock: true,
	})
}

// Opener makes a coordinator, and what connect gives for it, from a URL. It contacts nobody.
func Opener[D Database](s sqldb.Scheme, d Dialect,
	connect func(sqldb.Server) (D, error),
) driver.Opener[coord.Coordinator] {
	return func(_ context.Context, u *driver.URL) (coord.Coordinator, error) {
		t, err := Parse(s, u)
		if err != nil {
			return nil, err
		}
		db, err := connect(t.Server)
		if err != nil {
			return nil, u.Invalid(err)
		}
		c, err := New(db, d, t.Namespace, t.Options)
		if err != nil {
			return nil, errors.Join(err, db.Close())
		}
		c.Life().Guard(s.Check(t.Server, coord.ErrInvalid).Do)
		return c, nil
	}
}
