package redis_test

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/redis"
)

const (
	// callTime is for one call on a machine that is busy with other things.
	callTime = 30 * time.Second
	// patience is for what takes a quarantine.
	patience = 2 * time.Minute
	// wide is a skew bound with which a request that waits for a processor, here or in the
	// server, is not taken for that of a wrong clock. Callers try again then, which tests
	// of single calls do not.
	wide = 20 * time.Second
)

// layout is the fingerprint of the default layout, otherLayout that of another.
const (
	layout      = "41/10/12/1ms/2024-01-01T00:00:00Z"
	otherLayout = "40/10/13/1ms/2024-01-01T00:00:00Z"
)

const (
	capacity = 1024
	lastTick = 1<<41 - 1
)

func scale() clock.Scale {
	return clock.Scale{Epoch: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(), Unit: 1000}
}

func space() coord.Space {
	return coord.Space{Fingerprint: layout, Scale: scale(), LastTick: lastTick, Capacity: capacity}
}

// tickNow is the tick of this machine's clock.
func tickNow() int64 { return scale().Tick(time.Now().UnixMicro()) }

// request asks for one of the worker IDs 0 to n-1, with a new token and a horizon of
// 10 s.
func request(n int) coord.Request {
	now := tickNow()
	return coord.Request{
		Token: rand.Text(), Holder: "test", Fingerprint: layout, Scale: scale(), LastTick: lastTick,
		Workers: coord.Range{Count: n}, Capacity: capacity, TTL: 15 * time.Second,
		Now: now, Until: now + 10_000, OpenBy: now, Ahead: 5,
	}
}

// within returns a context for one call.
func within(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), callTime)
	tb.Cleanup(cancel)
	return ctx
}

// newCoordinator returns a coordinator that is closed with the test. Without options it
// has a wide skew bound.
func newCoordinator(tb testing.TB, client goredis.UniversalClient, namespace string, o *redis.Options) *redis.Coordinator {
	tb.Helper()
	if o == nil {
		o = &redis.Options{SkewBound: wide}
	}
	c, err := redis.New(client, namespace, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return c
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

// mustAcquire acquires, and must succeed.
func mustAcquire(tb testing.TB, c coord.Coordinator, req coord.Request) coord.Grant {
	tb.Helper()
	g, err := c.Acquire(within(tb), req)
	if err != nil {
		tb.Fatal(err)
	}
	return g
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
