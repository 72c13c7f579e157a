package zk

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/drivers"
)

// scheme is that of this driver's URLs.
const scheme = "zk"

func init() {
	drivers.SetPort(scheme, defaultPort)
	driver.Register(scheme, open)
}

// open makes a coordinator from a URL. It contacts nobody.
func open(_ context.Context, u *driver.URL) (coord.Coordinator, error) {
	namespace, opts, err := parse(u)
	if err != nil {
		return nil, u.Invalid(err)
	}
	opts.Clock, opts.Logger = u.Clock, u.Logger
	return New(u.Hosts, namespace, opts)
}

// parse reads a URL; errors without coord.ErrInvalid lack the words "zk URL".
func parse(u *driver.URL) (namespace string, opts Options, _ error) {
	if err := u.CheckOptions(append([]string{"namespace", "skew"},
		drivers.LoginOptions...)...); err != nil {
		return "", opts, err
	}
	if len(u.Hosts) == 0 {
		return "", opts,
			errors.New("there is no host; write zk://host1:2181,host2:2181/chroot?namespace=name")
	}
	namespace = u.Option("namespace")
	if namespace == "" {
		return "", opts, fmt.Errorf("there is no namespace; write zk://%s%s?namespace=name",
			strings.Join(u.Hosts, ","), u.Path)
	}
	if u.Path != "/" {
		opts.Chroot = u.Path
	}
	var err error
	if opts.Login, err = u.LoginBoth(); err != nil {
		return "", opts, err
	}
	if opts.Lease, err = u.Lease(); err != nil {
		return "", opts, err
	}
	if opts.SkewBound, err = u.Duration("skew", "1s"); err != nil {
		return "", opts, err
	}
	return namespace, opts, nil
}
