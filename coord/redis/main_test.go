package redis_test

import (
	"context"
	"crypto/rand"
	"io"
	"log"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/redis"
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
	// timeout is for what takes a quarantine.
	timeout = 5 * time.Minute
	// wide is a skew bound with which a request that waits for a processor, here or in the
	// server, is not taken for that of a wrong clock.
	wide = 20 * time.Second

	// otherLayout is the fingerprint of another layout than the default one.
	otherLayout = "40/10/13/1ms/2024-01-01T00:00:00Z"
	capacity    = drivertest.Capacity
)

var (
	layout            = drivertest.Space().Fingerprint
	space, tickNow    = drivertest.Space, drivertest.TickNow
	request, within   = drivertest.Request, drivertest.Within
	hurried           = drivertest.Hurried
	mustAcquire, open = drivertest.MustAcquire, drivertest.Open
)

// newCoordinator returns a coordinator with a wide skew bound that is closed with the test.
func newCoordinator(tb testing.TB, client goredis.UniversalClient, ns string) protocol.Full {
	tb.Helper()
	c, err := redis.New(client, ns, redis.Options{SkewBound: wide})
	return drivertest.Closing(tb, c, err).(protocol.Full)
}

// newNamespace declares a namespace new and returns its name.
func newNamespace(tb testing.TB, client goredis.UniversalClient, fingerprint string) string {
	tb.Helper()
	ns := rand.Text()
	s := space()
	s.Fingerprint = fingerprint
	if err := newCoordinator(tb, client, ns).Init(within(tb), s); err != nil {
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
	proctest.Eventually(tb, timeout, what, so)
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
