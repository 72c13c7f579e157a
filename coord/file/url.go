package file

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
)

func init() { driver.Register("file", openURL) }

// openURL makes a coordinator from a URL.
func openURL(_ context.Context, u *driver.URL) (coord.Coordinator, error) {
	path, opts, err := parse(u)
	if err != nil {
		return nil, u.Invalid(err)
	}
	return New(path, opts)
}

// parse reads the path and the options.
func parse(u *driver.URL) (path string, opts Options, err error) {
	const form = "write file:///var/lib/app/ids, with three slashes before the absolute path"
	switch {
	case u.User != nil:
		return "", opts, errors.New("there is a user or password; " + form)
	case len(u.Hosts) > 0:
		return "", opts, fmt.Errorf("there is a host, %q; %s", u.Hosts[0], form)
	case u.Path == "" || u.Path[len(u.Path)-1] == '/':
		return "", opts, fmt.Errorf("the path is %q, which names no file; %s", u.Path, form)
	}
	if err := u.CheckOptions("namespace"); err != nil {
		return "", opts, err
	}
	if opts.Namespace = u.Option("namespace"); u.Has("namespace") {
		if err := driver.CheckNamespace(opts.Namespace); err != nil {
			return "", opts, err
		}
	}
	if path, err = u.Folder(runtime.GOOS); err != nil {
		return "", opts, err
	}
	opts.Clock, opts.Logger = u.Clock, u.Logger
	opts.Lease, err = u.Lease()
	return path, opts, err
}
