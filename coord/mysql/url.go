package mysql

import (
	"context"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/coord/local"
	"github.com/unalike-id/unalike/internal/sqldb/mysqldb"
	"github.com/unalike-id/unalike/internal/sqlstore"
)

func init() {
	driver.Register(mysqldb.Scheme.Name, local.Opener(open))
	driver.Register(mysqldb.Scheme.Secure(), local.Opener(open))
}

// open makes a coordinator, and a pool of its own, from a URL. It contacts nobody.
func open(_ context.Context, u *driver.URL) (coord.Coordinator, error) {
	t, err := sqlstore.Parse(mysqldb.Scheme, u)
	if err != nil {
		return nil, err
	}
	config := mysqldb.Config(t.Server)
	config.MultiStatements = true
	pool, err := mysqldb.Pool(config)
	if err != nil {
		return nil, u.Invalid(err)
	}
	c, err := newAt(pool, config.Addr, []string{config.Net, config.Addr, config.DBName}, t.Namespace, Options(t.Options))
	if err != nil {
		_ = pool.Close()
		return nil, err
	}
	c.owned = pool
	return c, nil
}
