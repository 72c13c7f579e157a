package redis_test

import (
	"crypto/rand"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/internal/drivertest"
)

const (
	callTime = drivertest.CallTime
	// patience is for what takes a quarantine.
	patience = 5 * time.Minute
	// wide is a skew bound with which a request that waits for a processor, here or in the
	// server, is not taken for that of a wrong clock. Callers try again then, which tests
	// of single calls do not.
	wide = 20 * time.Second
)

const (
	// layout is the fingerprint of the default layout, otherLayout that of another.
	layout      = drivertest.Layout
	otherLayout = "40/10/13/1ms/2024-01-01T00:00:00Z"
	capacity    = drivertest.Capacity
	lastTick    = drivertest.LastTick
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

// eventually waits until something is so.
func eventually(tb testing.TB, what string, so func() bool) {
	tb.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !so(); <-tick.C {
		if time.Now().After(deadline) {
			tb.Fatalf("not within %v: %s", patience, what)
		}
	}
}
