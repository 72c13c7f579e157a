// Package etcdclient makes clients of etcd from URLs.
package etcdclient

import (
	"context"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/drivers"
	"github.com/unalike-id/unalike/internal/tlsfiles"
	"github.com/unalike-id/unalike/internal/wrongserver"
)

const (
	// Scheme is that of URLs without TLS.
	Scheme = "etcd"
	// SchemeTLS is that of URLs with TLS.
	SchemeTLS = "etcds"

	// port is etcd's for clients.
	port = "2379"

	// A connection whose other end is gone is found out by pings. gRPC does not ping
	// more often than every 10 s, and servers refuse less than 5 s.
	pingEvery   = 10 * time.Second
	pingTimeout = 3 * time.Second
	// noToken is a token that no cluster has given out.
	noToken = "none"
	// asked stands where the client wants a user and a password, until loggingIn has them.
	asked = "asked for when the user logs in"
)

func init() {
	drivers.SetPort(Scheme, port)
	drivers.SetPort(SchemeTLS, port)
}

// Config returns how to connect. Where another product listens, requests fail with an error that
// wraps invalid.
func Config(u *driver.URL, invalid error) (clientv3.Config, error) {
	cfg := clientv3.Config{
		DialKeepAliveTime:    pingEvery,
		DialKeepAliveTimeout: pingTimeout,
		Logger:               zap.NewNop(), // what goes wrong is in the errors
		DialOptions:          []grpc.DialOption{grpc.WithConnectParams(connecting)},
	}
	protocol := "http"
	if u.Scheme == SchemeTLS {
		protocol = "https"
	}
	addresses, err := u.Addresses(port)
	if err != nil {
		return cfg, err
	}
	for _, a := range addresses {
		cfg.Endpoints = append(cfg.Endpoints, protocol+"://"+a)
	}
	login, err := u.LoginBoth()
	if err != nil {
		return cfg, err
	}
	if login != nil {
		cfg.Username, cfg.Password = asked, asked
		cfg.DialOptions = append(cfg.DialOptions, grpc.WithChainUnaryInterceptor(loggingIn(login)))
	}
	var files *tlsfiles.Files
	if u.Scheme == SchemeTLS {
		files, err = tlsfiles.FromURL(u)
		cfg.DialOptions = append(cfg.DialOptions, grpc.WithTransportCredentials(credentialsOf(files)))
	} else {
		err = tlsfiles.None(u, SchemeTLS)
	}
	if err != nil {
		return cfg, err
	}
	check := &wrongserver.Check{
		Product: wrongserver.Etcd, Addresses: addresses, TLS: files, Invalid: invalid,
	}
	cfg.DialOptions = append(cfg.DialOptions, grpc.WithChainUnaryInterceptor(checking(check)))
	return cfg, nil
}

// checking makes requests as a check does.
func checking(check *wrongserver.Check) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
		next grpc.UnaryInvoker, opts ...grpc.CallOption,
	) error {
		return check.Do(ctx, func(ctx context.Context) error {
			return next(ctx, method, request, reply, conn, opts...)
		})
	}
}

// loggingIn puts the user and the password of now into the requests that log in.
func loggingIn(login func() (user, password string, err error)) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
		next grpc.UnaryInvoker, opts ...grpc.CallOption,
	) (err error) {
		if r, ok := request.(*pb.AuthenticateRequest); ok {
			if r.Name, r.Password, err = login(); err != nil {
				return err
			}
		}
		return next(ctx, method, request, reply, conn, opts...)
	}
}

// New makes a client. It asks nobody: a user is logged in by the first call, and again whenever
// the cluster has forgotten that. Calls of a user who is not let in fail with
// rpctypes.ErrAuthFailed.
func New(cfg clientv3.Config) (*clientv3.Client, error) {
	if cfg.Username == "" {
		return clientv3.New(cfg)
	}
	// Otherwise the client would log in now and wait for that, while a service that starts has to
	// listen. A client that has a token does not, and one whose token is refused gets another.
	user, password := cfg.Username, cfg.Password
	cfg.Username, cfg.Password, cfg.Token = "", "", noToken
	client, err := clientv3.New(cfg)
	if err == nil {
		client.Username, client.Password, client.Token = user, password, ""
	}
	return client, err
}
