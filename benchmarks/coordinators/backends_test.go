package coordinators

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	_ "github.com/unalike-id/unalike/coord/etcd"
	_ "github.com/unalike-id/unalike/coord/file"
	_ "github.com/unalike-id/unalike/coord/mysql"
	_ "github.com/unalike-id/unalike/coord/postgres"
	_ "github.com/unalike-id/unalike/coord/redis"
	_ "github.com/unalike-id/unalike/coord/zk"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// backend is a kind of coordinator.
type backend struct {
	name string
	// start starts a server and returns the URL of a namespace of it.
	start func(tb testing.TB) func(namespace string) string
	// open is start for a server that is reached with a client of the caller's, which opens
	// namespaces. Nil: a URL does.
	open func(tb testing.TB) opener
	slow bool // to make a thousand worker IDs
}

// opener opens a namespace.
type opener func(ctx context.Context, namespace string) (coord.Coordinator, error)

var backends = []backend{
	{name: "etcd", start: func(tb testing.TB) func(string) string {
		s := etcdtest.StartCluster(tb, 1)[0]
		return func(namespace string) string {
			return "etcd://" + s.Endpoint + "/" + namespace + "?skew=" + skew
		}
	}},
	{name: "redis", start: func(tb testing.TB) func(string) string {
		s := redistest.Start(tb, redistest.Options{})
		return func(namespace string) string {
			return "redis://" + s.Addr + "/0?namespace=" + namespace + "&skew=" + skew
		}
	}},
	{name: "zk", start: func(tb testing.TB) func(string) string {
		s := zktest.Start(tb, zktest.Options{Tick: 2 * time.Second})
		return func(namespace string) string {
			return "zk://" + s.Addr + "?namespace=" + namespace + "&skew=" + skew
		}
	}},
	{name: "postgres", start: func(tb testing.TB) func(string) string {
		s := pgtest.Start(tb, "-c", "fsync=on")
		return func(namespace string) string {
			return s.URL() + "?namespace=" + namespace + "&skew=" + skew
		}
	}},
	{name: "mariadb", start: func(tb testing.TB) func(string) string {
		s := mysqltest.Start(tb, "--innodb-flush-method=fsync")
		return func(namespace string) string {
			return "mysql://" + mysqltest.User + ":" + mysqltest.Password + "@" + s.Addr() + "/" +
				mysqltest.Database + "?namespace=" + namespace + "&skew=" + skew
		}
	}},
	{name: "kubernetes", open: openKubernetes, slow: true},
	{name: "file", start: func(tb testing.TB) func(string) string {
		dir := filepath.ToSlash(tb.TempDir())
		return func(namespace string) string {
			return "file://" + dir + "/" + namespace + "?namespace=" + namespace
		}
	}, slow: true},
}

// skew is a bound with which a request is not taken for that of a wrong clock because it
// waited for a thousand others.
const skew = "20s"

// perBackend runs f for each back end, with a server that serves all of f.
func perBackend(b *testing.B, f func(b *testing.B, s *site)) {
	b.Helper()
	for _, k := range backends {
		b.Run("coordinator="+k.name, func(b *testing.B) {
			s := &site{most: many}
			if k.open != nil {
				s.open = k.open(b)
			} else {
				url := k.start(b)
				s.open = func(ctx context.Context, namespace string) (coord.Coordinator, error) {
					return coord.Open(ctx, url(namespace), coord.OpenOptions{})
				}
			}
			if times := flag.Lookup("test.benchtime"); k.slow && times != nil &&
				times.Value.String() == "1x" {
				s.most = few
			}
			f(b, s)
		})
	}
}

// site is a server with its namespaces.
type site struct {
	open opener
	most int // worker IDs that are held at a time, beside the one that is measured
}

// many is how many worker IDs are held at most, and few if that takes long and each benchmark is
// run only to see that it works.
const many, few = 1024, 128

// space is a new namespace that is to be measured.
type space struct {
	coord.Coordinator
	layout  core.Layout
	horizon time.Duration
}

// space makes a namespace with a coordinator of its own.
func (s *site) space(b *testing.B, layout core.Layout) *space {
	b.Helper()
	c, err := s.open(b.Context(), "bench-"+rand.Text())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := c.Close(); err != nil {
			b.Error(err)
		}
	})
	admin, ok := c.(coord.AdminCoordinator)
	if !ok {
		b.Fatalf("%T cannot declare a namespace new", c)
	}
	if err := admin.Init(b.Context(), layout.Space()); err != nil {
		b.Fatal(err)
	}
	return &space{c, layout, min(horizon, coord.Describe(c).Rules.LongestWindow()-time.Second)}
}

const (
	// horizon is how far ahead windows reach, where they may.
	horizon = 25 * time.Second
	// timeout is for a thousand that start at once on a slow machine.
	timeout = 2 * time.Minute
)

// until is the end of the window that is asked for now.
func (s *space) until() int64 {
	return s.layout.Space().Scale.Tick(time.Now().Add(s.horizon).UnixMicro())
}

// request asks for any worker ID.
func (s *space) request(ttl time.Duration) coord.Request {
	l := s.layout.Space()
	now := l.Scale.Tick(time.Now().UnixMicro())
	return coord.Request{
		Token: rand.Text(), Holder: "bench", Fingerprint: l.Fingerprint, Scale: l.Scale,
		LastTick: l.LastTick,
		Workers:  coord.Range{Count: l.Capacity}, Capacity: l.Capacity,
		Now: now, Until: s.until(), OpenBy: now, TTL: ttl,
	}
}

// acquire leases a worker ID.
func (s *space) acquire(b *testing.B) coord.Grant {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	req := s.request(time.Minute / 2)
	g, err := s.Acquire(ctx, req)
	for err != nil && !coord.Permanent(err) && ctx.Err() == nil {
		// a connection was not to be had in time
		g, err = s.Acquire(ctx, req)
	}
	if err != nil {
		b.Error(err)
	}
	return g
}

// renew extends the window of g.
func (s *space) renew(b *testing.B, g coord.Grant) coord.Grant {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	r, err := s.Renew(ctx, g, s.until())
	if err != nil {
		b.Error(err)
		return g
	}
	return r
}

// release gives g back, with nothing stamped.
func (s *space) release(b *testing.B, g coord.Grant) {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	err := s.Release(ctx, g, g.NotBefore)
	for err != nil && !coord.Permanent(err) && !errors.Is(err, coord.ErrLeaseLost) &&
		ctx.Err() == nil {
		// likewise
		if err = s.Release(ctx, g, g.NotBefore); errors.Is(err, coord.ErrLeaseLost) {
			err = nil // the one before got through
		}
	}
	if err != nil {
		b.Error(err)
	}
}

// fill leases n worker IDs.
func (s *space) fill(b *testing.B, n int) []coord.Grant {
	b.Helper()
	grants := make([]coord.Grant, n)
	atOnce(n, func(i int) { grants[i] = s.acquire(b) })
	if b.Failed() {
		b.FailNow()
	}
	return grants
}

// free gives worker IDs back.
func (s *space) free(b *testing.B, grants []coord.Grant) {
	b.Helper()
	atOnce(len(grants), func(i int) { s.release(b, grants[i]) })
}

// atOnce calls f with 0 to n-1, all at the same time.
func atOnce(n int, f func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { f(i) })
	}
	all.Wait()
}
