package worker

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/coord/etcd"
	_ "github.com/unalike-id/unalike/coord/etcd/embedded" // embed://
	_ "github.com/unalike-id/unalike/coord/file"          // file://
	_ "github.com/unalike-id/unalike/coord/kubernetes"    // kubernetes+http://
	_ "github.com/unalike-id/unalike/coord/mysql"         // mysql://
	_ "github.com/unalike-id/unalike/coord/postgres"      // postgres://
	_ "github.com/unalike-id/unalike/coord/redis"         // redis://
	"github.com/unalike-id/unalike/coord/static"
	"github.com/unalike-id/unalike/coord/zk"
)

// coordinator returns the coordinator of a generator, which ends with the process. All generators
// of the process with that URL have it, as those of a program.
func (g *instance) coordinator(ctx context.Context) (c coord.Coordinator, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	key := g.URL + " " + g.State
	if c = g.shared[key]; c == nil {
		if c, err = open(ctx, g.URL, g.State, g.clock); err == nil {
			g.shared[key] = c
		}
	}
	return c, err
}

// Clocked are the schemes whose coordinators can be given a clock that is not the system's.
var Clocked = []string{"etcd", "static", "zk"}

// open opens the coordinator of a URL. With a clock that is not the system's, the driver gets the
// same one as the generator, as a program would do it: a URL cannot name a clock. Clients that are
// made for that end with the process.
func open(ctx context.Context, rawURL, state string, c clock.Clock) (coord.Coordinator, error) {
	if c == nil {
		return coord.Open(ctx, rawURL, coord.OpenOptions{State: state})
	}
	u, err := driver.ParseURL(rawURL)
	if err != nil {
		return nil, err
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
	case "static":
		n, err := strconv.Atoi(u.Option("worker"))
		if err != nil {
			return nil, err
		}
		return given(static.New(n, static.Options{
			Namespace: u.Option("namespace"), State: u.Option("state"),
			AcceptFresh: u.Option("fresh") == "true", Lease: lease, Clock: c,
		}))
	case "etcd":
		client, err := clientv3.New(clientv3.Config{
			Endpoints: u.Hosts, DialTimeout: 5 * time.Second, DialKeepAliveTime: 10 * time.Second,
			DialKeepAliveTimeout: 3 * time.Second, Logger: zap.NewNop(),
		})
		if err != nil {
			return nil, err
		}
		return given(etcd.New(client, strings.TrimPrefix(u.Path, "/"),
			etcd.Options{Lease: lease, SkewBound: skew, Clock: c}))
	case "zk":
		return given(zk.New(u.Hosts, u.Option("namespace"),
			zk.Options{Lease: lease, SkewBound: skew, Clock: c}))
	}
	return nil, fmt.Errorf("%w URL: a worker with a clock file knows the schemes %s, not %q",
		coord.ErrInvalid, strings.Join(Clocked, ", "), u.Scheme)
}

// given avoids a nil pointer in a Coordinator that is not nil.
func given[C coord.Coordinator](c C, err error) (coord.Coordinator, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}
