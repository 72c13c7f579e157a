package sqlstore

import (
	"fmt"
	"strings"

	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/sqldb"
)

// Target is what a URL says.
type Target struct {
	sqldb.Server
	Namespace string
	Options   Options
}

// Parse reads a URL.
func Parse(s sqldb.Scheme, u *driver.URL) (Target, error) {
	t, err := parseURL(s, u)
	if err != nil {
		err = u.Invalid(err)
	}
	t.Options.Clock, t.Options.Logger = u.Clock, u.Logger
	return t, err
}

func parseURL(s sqldb.Scheme, u *driver.URL) (t Target, err error) {
	const example = "namespace=name"
	if t.Server, err = s.Server(u, example); err != nil {
		return t, err
	}
	if err := u.CheckOptions(append([]string{"namespace", "prefix", "accept", "skew"},
		sqldb.ServerOptions...)...); err != nil {
		return t, err
	}
	if t.Namespace = u.Option("namespace"); t.Namespace == "" {
		return t, fmt.Errorf("there is no namespace; write %s://user:password@host:%s/database?%s",
			u.Scheme, s.Port, example)
	}
	if err := driver.CheckNamespace(t.Namespace); err != nil {
		return t, err
	}
	return t, t.Options.parse(u)
}

// parse reads the options that are not about the server.
func (o *Options) parse(u *driver.URL) (err error) {
	o.Prefix = u.Option("prefix")
	if names := u.Option("accept"); names != "" {
		o.Accept = strings.Split(names, ",")
	}
	if o.Lease, err = u.Lease(); err != nil {
		return err
	}
	if o.SkewBound, err = u.Duration("skew", "1s"); err != nil {
		return err
	}
	_, err = o.Resolve()
	return err
}
