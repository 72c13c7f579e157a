package postgres

import (
	"context"
	"errors"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/coord/local"
	"github.com/unalike-id/unalike/internal/sqldb/pgdb"
	"github.com/unalike-id/unalike/internal/sqlstore"
)

func init() {
	for _, name := range pgdb.Scheme.All() {
		driver.Register(name, local.Opener(open))
	}
}

// open makes a coordinator, and a pool of its own, from a URL. It contacts nobody.
func open(_ context.Context, u *driver.URL) (coord.Coordinator, error) {
	t, err := sqlstore.Parse(pgdb.Scheme, u)
	if err != nil {
		return nil, err
	}
	d, err := pgdb.Open(t.Server)
	if err != nil {
		return nil, u.Invalid(err)
	}
	c, err := newIn(d, t.Namespace, Options(t.Options))
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return c, nil
}
