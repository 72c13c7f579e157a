package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/drivers"
	"github.com/unalike-id/unalike/internal/etcdclient"
)

func init() {
	driver.Register(etcdclient.Scheme, open)
	driver.Register(etcdclient.SchemeTLS, open)
}

// open makes a coordinator, and a client of its own, from a URL.
func open(ctx context.Context, u *driver.URL) (coord.Coordinator, error) {
	t, err := parse(u)
	if err != nil {
		return nil, u.Invalid(err)
	}
	client, err := etcdclient.New(t.client)
	if err != nil {
		return nil, err
	}
	t.options.Clock, t.options.Logger = u.Clock, u.Logger
	c, err := newCoordinator(client, t.namespace, t.options, true)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return c, nil
}

// target is what a URL says.
type target struct {
	namespace string
	options   Options
	client    clientv3.Config
}

// parse reads a URL; errors without coord.ErrInvalid lack the words "etcd URL".
func parse(u *driver.URL) (target, error) {
	var t target
	if err := u.CheckOptions(append([]string{"ca", "cert", "key", "skew"},
		drivers.LoginOptions...)...); err != nil {
		return t, err
	}
	if len(u.Hosts) == 0 {
		return t, fmt.Errorf("there is no host; write %s://host1:2379,host2:2379/namespace", u.Scheme)
	}
	namespace, ok := strings.CutPrefix(u.Path, "/")
	if !ok || namespace == "" {
		return t, fmt.Errorf("there is no namespace; write %s://%s/namespace", u.Scheme,
			strings.Join(u.Hosts, ","))
	}
	if err := checkNamespace(namespace); err != nil {
		return t, err
	}
	t.namespace = namespace
	var err error
	if t.options.Lease, err = u.Lease(); err != nil {
		return t, err
	}
	if t.options.SkewBound, err = u.Duration("skew", "1s"); err != nil {
		return t, err
	}
	if _, err = t.options.resolve(); err != nil {
		return t, err
	}
	t.client, err = etcdclient.Config(u, coord.ErrInvalid)
	return t, err
}
