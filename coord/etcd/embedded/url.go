package embedded

import (
	"context"
	"fmt"
	"runtime"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
)

const scheme = "embed"

func init() { driver.Register(scheme, open) }

// open makes a coordinator from a URL.
func open(ctx context.Context, u *driver.URL) (coord.Coordinator, error) {
	t, err := parse(u, runtime.GOOS)
	if err != nil {
		return nil, u.Invalid(err)
	}
	t.options.Clock, t.options.Logger = u.Clock, u.Logger
	return New(ctx, t.dir, t.namespace, t.options)
}

// target is what a URL says.
type target struct {
	dir, namespace string
	options        Options
}

// parse reads a URL on the system goos; errors without coord.ErrInvalid lack the words
// "embed URL".
func parse(u *driver.URL, goos string) (target, error) {
	t := target{namespace: DefaultNamespace}
	switch {
	case u.User != nil:
		return t, fmt.Errorf("there is a user or password; write %s:///folder without one", scheme)
	case len(u.Hosts) > 0:
		return t, fmt.Errorf("there is a host, %q; a folder is on this machine, write %s:///folder with "+
			"three slashes", u.Hosts[0], scheme)
	case u.Path == "" || u.Path == "/":
		return t, fmt.Errorf("there is no folder; write %s:///folder, with the absolute path "+
			"of the folder", scheme)
	}
	if err := u.CheckOptions("namespace"); err != nil {
		return t, err
	}
	if u.Has("namespace") {
		t.namespace = u.Option("namespace")
		if err := driver.CheckNamespace(t.namespace); err != nil {
			return t, err
		}
	}
	var err error
	if t.dir, err = u.Folder(goos); err != nil {
		return t, err
	}
	t.options.Lease, err = u.Lease()
	return t, err
}
