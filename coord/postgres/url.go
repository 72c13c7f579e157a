package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/coord/local"
	"github.com/unalike-id/unalike/internal/sqldb/pgdb"
	"github.com/unalike-id/unalike/internal/sqlstore"
)

func init() {
	driver.Register(pgdb.Scheme.Name, local.Opener(open))
	driver.Register(pgdb.Scheme.Secure(), local.Opener(open))
}

// open makes a coordinator, and a pool of its own, from a URL. It contacts nobody.
func open(_ context.Context, u *driver.URL) (coord.Coordinator, error) {
	t, err := sqlstore.Parse(pgdb.Scheme, u)
	if err != nil {
		return nil, err
	}
	config, err := pgdb.Config(t.Server)
	if err != nil {
		return nil, u.Invalid(err)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, err
	}
	c, err := New(pool, t.Namespace, Options(t.Options))
	if err != nil {
		pool.Close()
		return nil, err
	}
	c.owned = pool
	return c, nil
}
