package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/drivers"
	"github.com/unalike-id/unalike/internal/etcdclient"
	"github.com/unalike-id/unalike/segment"
)

func init() {
	driver.RegisterStore(etcdclient.Scheme, open)
	driver.RegisterStore(etcdclient.SchemeTLS, open)
}

// open makes a store, and a client of its own, from a URL.
func open(_ context.Context, u *driver.URL) (segment.Store, error) {
	namespace, config, o, err := parse(u)
	if err != nil {
		return nil, segment.InvalidURL(u, err)
	}
	client, err := etcdclient.New(config)
	if err != nil {
		return nil, err
	}
	s, err := New(client, namespace, o)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	s.free = client.Close
	return s, nil
}

func parse(u *driver.URL) (namespace string, config clientv3.Config, o Options, err error) {
	if err := u.OnlyOptions(append([]string{"durable", "failover", "ca", "cert", "key"},
		drivers.LoginOptions...)...); err != nil {
		return "", config, o, err
	}
	if _, o.Skip, err = segment.ParseSafety(u); err != nil {
		return "", config, o, err
	}
	o.Logger = u.Logger
	namespace = strings.TrimPrefix(u.Path, "/")
	if len(u.Hosts) == 0 || namespace == "" {
		return "", config, o, fmt.Errorf(
			"there is no host or no namespace; write %s://host1:2379,host2:2379/namespace", u.Scheme)
	}
	config, err = etcdclient.Config(u, segment.ErrInvalidConfig)
	return namespace, config, o, err
}
