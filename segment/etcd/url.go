package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/sqlsegment"
	"github.com/unalike-id/unalike/internal/tlsfiles"
	"github.com/unalike-id/unalike/segment"
)

const (
	scheme    = "etcd"
	schemeTLS = "etcds"

	// A connection whose other end is gone is found out by pings. gRPC does not ping more often than every 10 s.
	pingEvery   = 10 * time.Second
	pingTimeout = 3 * time.Second
	// loginTime bounds logging in, which is done when the client is made.
	loginTime = 5 * time.Second
)

func init() {
	segment.Register(scheme, open)
	segment.Register(schemeTLS, open)
}

// open makes a store, and a client of its own, from a URL.
func open(ctx context.Context, u *coord.URL) (segment.Store, error) {
	namespace, config, o, err := parse(u)
	if err != nil {
		if !errors.Is(err, coord.ErrInvalid) {
			err = fmt.Errorf("%s URL: %w", u.Scheme, err)
		}
		return nil, fmt.Errorf("%w: %w", segment.ErrInvalidConfig, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	client, err := clientv3.New(config)
	if err != nil {
		return nil, fmt.Errorf("etcd: log in to %s as %q: %w", strings.Join(config.Endpoints, ", "), config.Username, err)
	}
	s, err := New(client, namespace, &o)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	s.free = client.Close
	return s, nil
}

func parse(u *coord.URL) (namespace string, config clientv3.Config, o Options, err error) {
	if err := u.OnlyOptions("durable", "failover", "ca", "cert", "key"); err != nil {
		return "", config, o, err
	}
	if _, o.Skip, err = sqlsegment.ParseSafety(u); err != nil {
		return "", config, o, err
	}
	o.Logger = u.Logger
	namespace = strings.TrimPrefix(u.Path, "/")
	if len(u.Hosts) == 0 || namespace == "" {
		return "", config, o, fmt.Errorf("there is no host or no namespace; write %s://host1:2379,host2:2379/namespace", u.Scheme)
	}
	if err := coord.CheckNamespace(namespace); err != nil {
		return "", config, o, err
	}
	config, err = clientConfig(u)
	return namespace, config, o, err
}

// clientConfig returns how to connect.
func clientConfig(u *coord.URL) (clientv3.Config, error) {
	// What goes wrong is in the errors.
	cfg := clientv3.Config{DialTimeout: loginTime, DialKeepAliveTime: pingEvery, DialKeepAliveTimeout: pingTimeout, Logger: zap.NewNop()}
	protocol := "http"
	if u.Scheme == schemeTLS {
		protocol = "https"
	}
	addresses, err := u.Addresses("2379")
	if err != nil {
		return cfg, err
	}
	for _, a := range addresses {
		cfg.Endpoints = append(cfg.Endpoints, protocol+"://"+a)
	}
	if u.User != nil {
		password, has := u.User.Password()
		if u.User.Username() == "" || !has || password == "" {
			return cfg, errors.New("a user and a password belong together; write user:password@, or neither")
		}
		cfg.Username, cfg.Password = u.User.Username(), password
	}
	if u.Scheme != schemeTLS {
		return cfg, tlsfiles.None(u, schemeTLS)
	}
	cfg.TLS, err = tlsfiles.Config(u, clock.System())
	return cfg, err
}
