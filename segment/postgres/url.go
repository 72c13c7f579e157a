package postgres

import (
	"context"

	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/sqldb/pgdb"
	"github.com/unalike-id/unalike/internal/sqlsegment"
	"github.com/unalike-id/unalike/segment"
)

func init() {
	for _, name := range pgdb.Scheme.All() {
		segment.Register(name, open)
	}
}

// open makes a store, and a pool of its own, from a URL. A server that cannot be reached is no
// error yet.
func open(ctx context.Context, u *driver.URL) (segment.Store, error) {
	s, err := sqlsegment.Open(ctx, pgdb.Scheme, u, dialect(), pgdb.Open)
	if err != nil {
		return nil, err
	}
	return &Store{s}, nil
}
