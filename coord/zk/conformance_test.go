package zk_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/coord/zk"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

func TestAdmin(t *testing.T) {
	server := zktest.Start(t, zktest.Options{})
	coordtest.RunAdmin(t, func(testing.TB) coordtest.Harness {
		return coordtest.Harness{Client: participant([]string{server.Addr}, rand.Text())}
	})
}

func TestConformance(t *testing.T) {
	server := zktest.Start(t, zktest.Options{})
	servers, o := []string{server.Addr}, newOperator(t, []string{server.Addr})
	coordtest.Run(t, func(tb testing.TB) coordtest.Harness {
		tb.Helper()
		ns := rand.Text()
		return coordtest.Harness{
			Client:         participant(servers, ns),
			OtherNamespace: participant(servers, rand.Text()),
			Expire: func(tb testing.TB, g coord.Grant) {
				tb.Helper()
				endSession(tb, o, server, ns, g.WorkerID)
			},
			RaiseFloor: func(tb testing.TB, tick int64) {
				tb.Helper()
				raiseFloor(tb, servers, ns, tick)
			},
			Sticky: true,
		}
	})
}

// participant makes participants. The suite's requests stay within 30 s of the
// present.
func participant(servers []string, namespace string) func(testing.TB,
	coord.Range) coord.Coordinator {
	return func(tb testing.TB, _ coord.Range) coord.Coordinator {
		tb.Helper()
		return newCoordinator(tb, servers, namespace, &zk.Options{SkewBound: 40 * time.Second})
	}
}

// raiseFloor raises the floor of a namespace, which it makes if need be.
func raiseFloor(tb testing.TB, servers []string, namespace string, tick int64) {
	tb.Helper()
	drivertest.RaiseFloor(tb, newCoordinator(tb, servers, namespace, nil), tick)
}
