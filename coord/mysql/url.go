package mysql

import (
	"context"
	"errors"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/coord/local"
	"github.com/unalike-id/unalike/internal/sqldb/mysqldb"
	"github.com/unalike-id/unalike/internal/sqlstore"
)

func init() {
	for _, name := range mysqldb.Scheme.All() {
		driver.Register(name, local.Opener(open))
	}
}

// open makes a coordinator, and a pool of its own, from a URL. It contacts nobody.
func open(_ context.Context, u *driver.URL) (coord.Coordinator, error) {
	t, err := sqlstore.Parse(mysqldb.Scheme, u)
	if err != nil {
		return nil, err
	}
	d, err := mysqldb.Open(t.Server)
	if err != nil {
		return nil, u.Invalid(err)
	}
	network := "tcp"
	if t.Socket != "" {
		network = "unix"
	}
	c, err := newIn(d, []string{network, d.At, t.Database}, t.Namespace, Options(t.Options))
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return c, nil
}
