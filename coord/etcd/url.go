package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/logs"
	"github.com/unalike-id/unalike/internal/tlsfiles"
)

const (
	scheme    = "etcd"
	schemeTLS = "etcds"

	// defaultPort is etcd's port for clients.
	defaultPort = "2379"

	// A connection whose other end is gone is found out by pings. gRPC does not ping
	// more often than every 10 s, and servers refuse less than 5 s.
	pingEvery   = 10 * time.Second
	pingTimeout = 3 * time.Second
	// loginTime bounds logging in, which is done when the client is made.
	loginTime = 5 * time.Second
)

func init() {
	coord.Register(scheme, open)
	coord.Register(schemeTLS, open)
}

// open makes a coordinator, and a client of its own, from a URL.
func open(ctx context.Context, u *coord.URL) (coord.Coordinator, error) {
	t, err := parse(u)
	if err != nil {
		if !errors.Is(err, coord.ErrInvalid) {
			err = fmt.Errorf("%w %s URL: %w", coord.ErrInvalid, u.Scheme, err)
		}
		return nil, err
	}
	var client *clientv3.Client
	login := func() { client, err = dial(ctx, t.client) }
	log := logs.Or(u.Logger)
	told := logs.Waiting(log, login, "waiting for etcd to answer the login", "at", strings.Join(t.client.Endpoints, ", "), "at_most", loginTime)
	if told && err == nil {
		log.Warn("etcd has answered the login")
	}
	if err != nil {
		return nil, fmt.Errorf("etcd: log in to %s as %q: %w", strings.Join(t.client.Endpoints, ", "), t.client.Username, err)
	}
	t.options.Logger = u.Logger
	c, err := New(client, t.namespace, &t.options)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	c.owned = true
	return c, nil
}

// target is what a URL says.
type target struct {
	namespace string
	options   Options
	client    clientv3.Config
}

// parse reads a URL; errors without coord.ErrInvalid lack the words "etcd URL".
func parse(u *coord.URL) (target, error) {
	var t target
	if err := u.CheckOptions("ca", "cert", "key", "skew"); err != nil {
		return t, err
	}
	if len(u.Hosts) == 0 {
		return t, fmt.Errorf("there is no host; write %s://host1:2379,host2:2379/namespace", u.Scheme)
	}
	namespace, ok := strings.CutPrefix(u.Path, "/")
	if !ok || namespace == "" {
		return t, fmt.Errorf("there is no namespace; write %s://%s/namespace", u.Scheme, strings.Join(u.Hosts, ","))
	}
	if err := coord.CheckNamespace(namespace); err != nil {
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
	t.client, err = clientConfig(u)
	return t, err
}

// clientConfig returns how to connect.
func clientConfig(u *coord.URL) (clientv3.Config, error) {
	cfg := clientv3.Config{
		DialTimeout:          loginTime,
		DialKeepAliveTime:    pingEvery,
		DialKeepAliveTimeout: pingTimeout,
		Logger:               zap.NewNop(), // what goes wrong is in the errors
	}
	protocol := "http"
	if u.Scheme == schemeTLS {
		protocol = "https"
	}
	addresses, err := u.Addresses(defaultPort)
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

// dial makes a client. That takes time only if it has to log in; ctx bounds it.
func dial(ctx context.Context, cfg clientv3.Config) (*clientv3.Client, error) {
	// The client lives as long as its context. While it is being made, that ends with
	// ctx as well.
	life, end := context.WithCancel(context.Background())
	cfg.Context = life
	stop := context.AfterFunc(ctx, end)
	client, err := clientv3.New(cfg)
	switch {
	case err == nil && !stop():
		err = context.Cause(ctx)
		_ = client.Close()
	case err == nil:
		return client, nil
	case ctx.Err() != nil:
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	case errors.Is(err, rpctypes.ErrAuthFailed):
		err = fmt.Errorf("%w: the user name or the password is wrong: %w", coord.ErrInvalid, err)
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("no answer within %v: %w", loginTime, err)
	}
	stop()
	end()
	return nil, err
}
