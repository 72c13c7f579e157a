package sqlsegment

import (
	"context"
	"errors"
	"strings"

	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/sqldb"
	"github.com/unalike-id/unalike/segment"
)

// Register makes the names of a scheme known to [segment.Open]. It makes a store, and what connect
// gives for it. A server that cannot be reached is no error yet.
func Register[D DB](scheme sqldb.Scheme, d Dialect, connect func(sqldb.Server) (D, error)) {
	open := func(ctx context.Context, u *driver.URL) (segment.Store, error) {
		server, o, err := parseURL(scheme, u)
		if err != nil {
			return nil, segment.InvalidURL(u, err)
		}
		db, err := connect(server)
		if err != nil {
			return nil, segment.InvalidURL(u, err)
		}
		s, err := New(db, d, o)
		if err != nil {
			return nil, errors.Join(err, db.Close())
		}
		s.check = scheme.Check(server, segment.ErrInvalidConfig)
		if err := s.Look(ctx); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		return s, nil
	}
	for _, name := range scheme.All() {
		driver.RegisterStore(name, open)
	}
}

func parseURL(s sqldb.Scheme, u *driver.URL) (server sqldb.Server, o Options, err error) {
	if server, err = s.Server(u, "table="+DefaultTable); err != nil {
		return server, o, err
	}
	if err := u.OnlyOptions(append([]string{"table", "durable", "failover", "servers"},
		sqldb.ServerOptions...)...); err != nil {
		return server, o, err
	}
	o.Logger, o.Table = u.Logger, u.Option("table")
	if u.Has("servers") {
		o.Servers = strings.Split(u.Option("servers"), ",")
	}
	o.RequireDurable, o.Skip, err = segment.ParseSafety(u)
	return server, o, err
}
