package mysql

import (
	"context"
	"errors"

	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/sqldb/mysqldb"
	"github.com/unalike-id/unalike/internal/sqlsegment"
	"github.com/unalike-id/unalike/segment"
)

func init() {
	segment.Register(mysqldb.Scheme.Name, open)
	segment.Register(mysqldb.Scheme.Secure(), open)
}

// open makes a store, and a pool of its own, from a URL. A server that cannot be reached is no error yet.
func open(ctx context.Context, u *driver.URL) (segment.Store, error) {
	t, err := sqlsegment.Parse(mysqldb.Scheme, u)
	if err != nil {
		return nil, err
	}
	d, err := mysqldb.Open(t.Server)
	if err != nil {
		return nil, sqlsegment.Invalid(u, err)
	}
	s, err := newStore(d, t.Options)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	if err := s.Look(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}
