package redis_test

import (
	"crypto/rand"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/drivertest/localtest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	conform(t, func(tb testing.TB) func(testing.TB) goredis.UniversalClient {
		tb.Helper()
		server := redistest.Start(tb, redistest.Options{})
		return func(tb testing.TB) goredis.UniversalClient { tb.Helper(); return server.Client(tb) }
	})
}

func TestConformanceWithSentinel(t *testing.T) {
	t.Parallel()
	conform(t, func(tb testing.TB) func(testing.TB) goredis.UniversalClient {
		tb.Helper()
		servers := redistest.StartReplicated(tb, redistest.Options{})
		return func(tb testing.TB) goredis.UniversalClient { tb.Helper(); return servers.Client(tb) }
	})
}

func TestConformanceOnCluster(t *testing.T) {
	t.Parallel()
	conform(t, func(tb testing.TB) func(testing.TB) goredis.UniversalClient {
		tb.Helper()
		cluster := redistest.StartCluster(tb, redistest.Options{}, 3)
		return func(tb testing.TB) goredis.UniversalClient { tb.Helper(); return cluster.Client(tb) }
	})
}

func TestAdmin(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	coordtest.RunAdmin(t, func(testing.TB) coordtest.Harness {
		ns := rand.Text()
		return coordtest.Harness{Client: func(tb testing.TB, _ coord.Range) coord.Coordinator {
			tb.Helper()
			return newCoordinator(tb, client, ns, nil)
		}}
	})
}

// conform runs the suite on servers, for which start returns a function that makes
// clients.
func conform(t *testing.T, start func(testing.TB) func(testing.TB) goredis.UniversalClient) {
	t.Helper()
	connect := start(t)
	operator := connect(t)
	localtest.Conform(t, func(tb testing.TB) coordtest.Harness {
		tb.Helper()
		ns := newNamespace(tb, operator, layout)
		participant := func(namespace string) func(testing.TB, coord.Range) coord.Coordinator {
			return func(tb testing.TB, _ coord.Range) coord.Coordinator {
				tb.Helper()
				return newCoordinator(tb, connect(tb), namespace, nil)
			}
		}
		return coordtest.Harness{
			Client:         participant(ns),
			OtherNamespace: participant(newNamespace(tb, operator, otherLayout)),
			Expire: func(tb testing.TB, g coord.Grant) {
				tb.Helper()
				redis.EndLease(tb, operator, ns, g.WorkerID)
			},
			RaiseFloor: func(tb testing.TB, tick int64) {
				tb.Helper()
				drivertest.RaiseFloor(tb, newCoordinator(tb, operator, ns, nil), tick)
			},
			Sticky: true,
		}
	})
}
