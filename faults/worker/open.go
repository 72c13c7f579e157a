package worker

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/coord/etcd"
	_ "github.com/unalike-id/unalike/coord/etcd/embedded" // embed://
	"github.com/unalike-id/unalike/coord/file"
	"github.com/unalike-id/unalike/coord/kubernetes"
	"github.com/unalike-id/unalike/coord/mysql"
	"github.com/unalike-id/unalike/coord/postgres"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/coord/static"
	"github.com/unalike-id/unalike/coord/zk"
)

// pooled are the schemes of what a program has one of, for all of its generators.
var pooled = []string{"postgres", "mysql", "kubernetes+http"}

// open opens the coordinator of a URL. With a clock that is not the system's, the driver gets the same one
// as the generator, as a program would do it: a URL cannot name a clock. The same is done for a pool of
// connections that several coordinators use. The clients that are made for that end with the process.
func open(ctx context.Context, rawURL string, c clock.Clock, p *pools) (coord.Coordinator, error) {
	if c == nil && p == nil {
		return coord.Open(ctx, rawURL, coord.OpenOptions{})
	}
	u, err := driver.ParseURL(rawURL)
	if err != nil {
		return nil, err
	}
	if c == nil && !slices.Contains(pooled, u.Scheme) {
		return coord.Open(ctx, rawURL, coord.OpenOptions{})
	}
	if p == nil {
		p = &pools{} // for this one alone
	}
	lease, err := u.Lease()
	if err != nil {
		return nil, err
	}
	skew, err := u.Duration("skew", "1s")
	if err != nil {
		return nil, err
	}
	switch u.Scheme {
	case "file":
		return given(file.New(u.Path, file.Options{Namespace: u.Option("namespace"), Lease: lease, Clock: c}))
	case "static":
		n, err := strconv.Atoi(u.Option("worker"))
		if err != nil {
			return nil, err
		}
		return given(static.New(n, static.Options{
			Namespace: u.Option("namespace"), State: u.Option("state"), AcceptFresh: u.Option("fresh") == "true", Lease: lease, Clock: c,
		}))
	case "etcd":
		client, err := clientv3.New(clientv3.Config{
			Endpoints: u.Hosts, DialTimeout: 5 * time.Second, DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 3 * time.Second, Logger: zap.NewNop(),
		})
		if err != nil {
			return nil, err
		}
		return given(etcd.New(client, strings.TrimPrefix(u.Path, "/"), etcd.Options{Lease: lease, SkewBound: skew, Clock: c}))
	case "redis":
		client := goredis.NewClient(&goredis.Options{Addr: u.Hosts[0], MaxRetries: -1, ContextTimeoutEnabled: true})
		return given(redis.New(client, u.Option("namespace"), redis.Options{Lease: lease, SkewBound: skew, Clock: c}))
	case "zk":
		return given(zk.New(u.Hosts, u.Option("namespace"), zk.Options{
			Chroot: strings.TrimSuffix(u.Path, "/"), Lease: lease, SkewBound: skew, Clock: c,
		}))
	case "postgres":
		return p.openPostgres(ctx, u, postgres.Options{Lease: lease, SkewBound: skew}, c)
	case "mysql":
		return p.openMySQL(u, mysql.Options{Lease: lease, SkewBound: skew}, c)
	case "kubernetes+http":
		return p.openKubernetes(u, kubernetes.Options{Lease: lease, SkewBound: skew, Clock: c})
	}
	return nil, fmt.Errorf("%w URL: a worker with a clock file knows the schemes etcd, file, kubernetes+http, mysql, postgres, redis, static and zk, not %q", coord.ErrInvalid, u.Scheme)
}

// given avoids a nil pointer in a Coordinator that is not nil.
func given[C coord.Coordinator](c C, err error) (coord.Coordinator, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}

// placeOf names the namespace of a URL, for a state file before a coordinator that cannot: one that was given a pool of
// database/sql, which does not say where it leads.
func placeOf(rawURL string) (string, error) {
	u, err := driver.ParseURL(rawURL)
	if err != nil {
		return "", err
	}
	return driver.JoinPlace(u.Scheme, append(slices.Clone(u.Hosts), u.Path, u.Option("namespace"))...), nil
}
