package sqlsegment

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/unalike-id/unalike/coord"
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
			return nil, Invalid(u, err)
		}
		db, err := connect(server)
		if err != nil {
			return nil, Invalid(u, err)
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
		segment.Register(name, open)
	}
}

// Invalid returns an error about a URL as one that wraps [segment.ErrInvalidConfig].
func Invalid(u *driver.URL, err error) error {
	if !errors.Is(err, coord.ErrInvalid) {
		err = fmt.Errorf("%s URL: %w", u.Scheme, err)
	}
	return fmt.Errorf("%w: %w", segment.ErrInvalidConfig, err)
}

func parseURL(s sqldb.Scheme, u *driver.URL) (server sqldb.Server, o Options, err error) {
	if server, err = s.Server(u, "table="+DefaultTable); err != nil {
		return server, o, err
	}
	if err := u.OnlyOptions(append([]string{"table", "durable", "failover"},
		sqldb.ServerOptions...)...); err != nil {
		return server, o, err
	}
	o.Logger, o.Table = u.Logger, u.Option("table")
	o.RequireDurable, o.Skip, err = ParseSafety(u)
	return server, o, err
}

// ParseSafety reads the options durable and failover, which all stores have.
func ParseSafety(u *driver.URL) (durable bool, skip int64, err error) {
	switch v := u.Option("durable"); {
	case v == "require":
		durable = true
	case v != "warn" && u.Has("durable"):
		return false, 0, fmt.Errorf("option durable is %q; it is require or warn", v)
	}
	if u.Has("failover") {
		v := u.Option("failover")
		n, ok := strings.CutPrefix(v, "skip:")
		if skip, err = strconv.ParseInt(n, 10, 64); v != "stop" &&
			(!ok || err != nil || skip < 1 || skip > segment.MaxStep) {
			return false, 0, fmt.Errorf("option failover is %q; it is stop, or skip:N with N from 1 to %d, "+
				"for example skip:1000000", v, int64(segment.MaxStep))
		}
	}
	return durable, skip, nil
}
