package redis_test

import (
	"crypto/rand"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	operator := server.Client(t)
	coordtest.Run(t, func(tb testing.TB) coordtest.Harness {
		tb.Helper()
		ns := newNamespace(tb, operator, layout)
		participant := func(namespace string) func(testing.TB, coord.Range) coord.Coordinator {
			return func(tb testing.TB, _ coord.Range) coord.Coordinator {
				tb.Helper()
				return newCoordinator(tb, server.Client(tb), namespace)
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
				drivertest.RaiseFloor(tb, newCoordinator(tb, operator, ns), tick)
			},
			Sticky: true,
		}
	})
}

func TestStepsBack(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t, redistest.Options{}).Client(t)
	drivertest.StepsBack(t, newCoordinator(t, client, newNamespace(t, client, layout)))
}

func TestAdmin(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	coordtest.RunAdmin(t, func(testing.TB) coordtest.Harness {
		ns := rand.Text()
		return coordtest.Harness{Client: func(tb testing.TB, _ coord.Range) coord.Coordinator {
			tb.Helper()
			return newCoordinator(tb, client, ns)
		}}
	})
}

// TestFirstStart: what was never there looks like what was lost, until it is declared new.
func TestFirstStart(t *testing.T) {
	c := newCoordinator(t, redistest.Start(t, redistest.Options{}).Client(t), "first")
	least := tickNow() + redis.MaxHorizon.Milliseconds()
	if g := mustAcquire(t, c, request(1)); g.NotBefore < least || g.NotAfter != g.NotBefore {
		safetytest.Of(t).Errorf("granted is %v; want an empty window from %d on", g, least)
	}
}
