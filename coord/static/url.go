package static

import (
	"context"
	"errors"
	"fmt"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
)

func init() { driver.Register("static", opener{thisMachine()}.open) }

// opener makes coordinators from URLs.
type opener struct{ machine machine }

func (o opener) open(_ context.Context, u *driver.URL) (coord.Coordinator, error) {
	src, opts, err := o.parse(u)
	if err != nil {
		return nil, u.Invalid(err)
	}
	opts.Clock, opts.Logger = u.Clock, u.Logger
	c, err := newCoordinator(src, opts)
	if err != nil {
		return nil, err // not a nil *coordinator in an interface that is not nil
	}
	return c, nil
}

// parse reads the options; what it returns without coord.ErrInvalid lacks the
// words "static URL".
func (o opener) parse(u *driver.URL) (src source, opts Options, err error) {
	switch {
	case u.User != nil:
		return src, opts, errors.New("there is a user or password; write static://?worker=7 without one")
	case len(u.Hosts) > 0:
		return src, opts, fmt.Errorf("there is a host, %q; a static coordinator has none, write "+
			"static://?worker=7", u.Hosts[0])
	case u.Path != "":
		return src, opts, fmt.Errorf("there is a path, %q; write static://?worker=7, and the state file "+
			"as the option state", u.Path)
	}
	if err := u.CheckOptions("worker", "state", "namespace", "count", "fresh"); err != nil {
		return src, opts, err
	}
	opts.Count = 1
	if v := u.Option("count"); u.Has("count") {
		n, err := parseNumber(v)
		if err != nil || n == 0 {
			return src, opts, fmt.Errorf("option count is %q; it is the number of worker IDs, at least 1", v)
		}
		opts.Count = int(n)
	}
	if src, err = parseWorker(u.Option("worker"), opts.Count, o.machine); err != nil {
		return src, opts, err
	}
	if opts.State = u.Option("state"); opts.State == "" && u.Has("state") {
		return src, opts, errors.New("option state is empty; name a file, or leave the option out")
	}
	if opts.Namespace = u.Option("namespace"); u.Has("namespace") {
		if err := driver.CheckNamespace(opts.Namespace); err != nil {
			return src, opts, err
		}
	}
	v := u.Option("fresh")
	if opts.AcceptFresh = v == "true"; u.Has("fresh") && v != "true" && v != "false" {
		return src, opts, fmt.Errorf("option fresh is %q; it is true or false", v)
	}
	opts.Lease, err = u.Lease()
	return src, opts, err
}
