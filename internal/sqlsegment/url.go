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

// Target is what a URL says.
type Target struct {
	sqldb.Server
	Options Options
}

// Open makes a store, and what connect gives for it, from a URL. A server that cannot be reached is
// no error yet.
func Open[D DB](ctx context.Context, scheme sqldb.Scheme, u *driver.URL, d Dialect,
	connect func(sqldb.Server) (D, error),
) (*Store, error) {
	t, err := parseURL(scheme, u)
	if err != nil {
		return nil, Invalid(u, err)
	}
	db, err := connect(t.Server)
	if err != nil {
		return nil, Invalid(u, err)
	}
	s, err := New(db, d, t.Options)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if err := s.Look(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Invalid returns an error about a URL as one that wraps [segment.ErrInvalidConfig].
func Invalid(u *driver.URL, err error) error {
	if !errors.Is(err, coord.ErrInvalid) {
		err = fmt.Errorf("%s URL: %w", u.Scheme, err)
	}
	return fmt.Errorf("%w: %w", segment.ErrInvalidConfig, err)
}

func parseURL(s sqldb.Scheme, u *driver.URL) (t Target, err error) {
	if t.Server, err = s.Server(u, "table="+DefaultTable); err != nil {
		return t, err
	}
	if err := u.OnlyOptions(append([]string{"table", "durable", "failover"},
		sqldb.ServerOptions...)...); err != nil {
		return t, err
	}
	t.Options.Logger, t.Options.Table = u.Logger, u.Option("table")
	t.Options.RequireDurable, t.Options.Skip, err = ParseSafety(u)
	return t, err
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
