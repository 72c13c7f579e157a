package redis_test

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/leaktest"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

func TestMain(m *testing.M) {
	goredis.SetLogger(quiet{log.New(io.Discard, "", 0)})
	leaktest.Main(m)
}

// quiet takes what the client library would print on standard error.
type quiet struct{ *log.Logger }

func (quiet) Printf(context.Context, string, ...any) {}

const (
	callTime = drivertest.CallTime
	// patience is for what takes a quarantine.
	patience = 5 * time.Minute
	// wide is a skew bound with which a request that waits for a processor, here or in the
	// server, is not taken for that of a wrong clock.
	wide = 20 * time.Second
	// shortHorizon stands in for MaxHorizon where waiting for that would take half a minute.
	shortHorizon = 3 * time.Second

	// layout is the fingerprint of the default layout, otherLayout that of another.
	layout      = drivertest.Layout
	otherLayout = "40/10/13/1ms/2024-01-01T00:00:00Z"
	capacity    = drivertest.Capacity
)

var (
	scale, space, tickNow = drivertest.Scale, drivertest.Space, drivertest.TickNow
	request, within       = drivertest.Request, drivertest.Within
	hurried               = drivertest.Hurried
	mustAcquire, open     = drivertest.MustAcquire, drivertest.Open
)

// newCoordinator returns a coordinator that is closed with the test. Without options it
// has a wide skew bound.
func newCoordinator(tb testing.TB, client goredis.UniversalClient, namespace string, o *redis.Options) *redis.Coordinator {
	tb.Helper()
	if o == nil {
		o = &redis.Options{SkewBound: wide}
	}
	c, err := redis.New(client, namespace, *o)
	return drivertest.Closing(tb, c, err)
}

// shortCoordinator is newCoordinator with shortHorizon. Its skew bound is short as well,
// because a quarantine takes both.
func shortCoordinator(tb testing.TB, client goredis.UniversalClient, namespace string) *redis.Coordinator {
	tb.Helper()
	return leasing(tb, client, namespace, lease(), redis.DefaultSkewBound)
}

// leasing returns a coordinator with a horizon that is MaxHorizon as well.
func leasing(tb testing.TB, client goredis.UniversalClient, namespace string, l coord.LeaseConfig, skew time.Duration) *redis.Coordinator {
	tb.Helper()
	c, err := redis.NewShort(client, namespace, max(l.Horizon, shortHorizon), redis.Options{Lease: l, SkewBound: skew})
	return drivertest.Closing(tb, c, err)
}

// newNamespace declares a namespace new and returns its name.
func newNamespace(tb testing.TB, client goredis.UniversalClient, fingerprint string) string {
	tb.Helper()
	ns := rand.Text()
	s := space()
	s.Fingerprint = fingerprint
	if err := newCoordinator(tb, client, ns, nil).Init(within(tb), s); err != nil {
		tb.Fatal(err)
	}
	return ns
}

// mustRelease gives a worker ID back that was not used.
func mustRelease(tb testing.TB, c coord.Coordinator, g coord.Grant) {
	tb.Helper()
	if err := c.Release(within(tb), g, g.NotBefore); err != nil {
		tb.Fatal(err)
	}
}

// eventually waits until something is so.
func eventually(tb testing.TB, what string, so func() bool) {
	tb.Helper()
	proctest.Eventually(tb, patience, what, so)
}

// shortRequest is request with the horizon of short coordinators.
func shortRequest(n int) coord.Request {
	r := request(n)
	r.Until = r.Now + shortHorizon.Milliseconds()
	return r
}

// acquireShort acquires with such a request, and must succeed. The skew bound is short as
// well: a request that waited for a processor is made again, with the time that it is then.
func acquireShort(t *testing.T, c *redis.Coordinator, n int) (g coord.Grant) {
	t.Helper()
	eventually(t, "a request is in time", func() (ok bool) {
		var err error
		g, err = c.Acquire(within(t), shortRequest(n))
		if err != nil && !errors.Is(err, coord.ErrClockSkew) {
			t.Fatal(err)
		}
		return err == nil
	})
	return g
}

// lease are times that make a test short. The horizon is as long as it can be.
func lease() coord.LeaseConfig {
	return coord.LeaseConfig{TTL: 2 * time.Second, Horizon: shortHorizon, RenewEvery: 500 * time.Millisecond}
}

// generate starts a generator that is closed with the test.
func generate(t *testing.T, c coord.Coordinator, l coord.LeaseConfig) *core.Generator {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	g, err := core.New(ctx, c, core.Config{Lease: l})
	// A start tries for as long as the TTL, which is short for a machine that is slow, and
	// so is the skew bound.
	for err != nil && (errors.Is(err, coord.ErrClockSkew) || !coord.Permanent(err)) && ctx.Err() == nil {
		g, err = core.New(ctx, c, core.Config{Lease: l})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = g.Close(ctx) // the server may be gone
	})
	return g
}

// stream takes IDs until stop is called, through errors, and keeps them.
type stream struct {
	quit, done chan struct{}

	mu  sync.Mutex
	ids []core.ID
	err error // the first
}

// run takes IDs at a pace that leaves the machine to others.
func run(g *core.Generator) *stream {
	s := &stream{quit: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		pace := time.NewTicker(2 * time.Millisecond)
		defer pace.Stop()
		for {
			select {
			case <-s.quit:
				return
			case <-pace.C:
			}
			id, err := g.Next()
			s.mu.Lock()
			if err == nil {
				s.ids = append(s.ids, id)
			} else if s.err == nil {
				s.err = err
			}
			s.mu.Unlock()
		}
	}()
	return s
}

// more waits until so many IDs have come from now on.
func (s *stream) more(t *testing.T, n int) {
	t.Helper()
	came := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.ids)
	}
	n += came()
	eventually(t, "more IDs come", func() bool { return came() >= n })
}

// stop ends streams after some more IDs, and checks that none came twice, whoever made it.
func stop(t *testing.T, streams ...*stream) {
	t.Helper()
	seen := map[core.ID]int{}
	for i, s := range streams {
		s.more(t, 100)
		close(s.quit)
		<-s.done
		for _, id := range s.ids {
			if j, twice := seen[id]; twice {
				t.Fatalf("ID %d came from generator %d and from generator %d", id, j, i)
			}
			seen[id] = i
		}
		t.Logf("the first error of generator %d: %v", i, s.err)
	}
	t.Logf("%d IDs of %d generators, all different", len(seen), len(streams))
}

// metaOf returns the record of a namespace.
func metaOf(tb testing.TB, client goredis.Cmdable, ns string) protocol.Meta {
	tb.Helper()
	_, record, _ := strings.Cut(client.HGet(within(tb), redis.KeyOf(ns), "meta").Val(), " ")
	m, err := protocol.Decode[protocol.Meta]([]byte(record))
	if err != nil {
		tb.Fatalf("%q: %v", record, err)
	}
	return m
}
