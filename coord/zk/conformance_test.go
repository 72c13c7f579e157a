package zk_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/coord/zk"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/drivertest/localtest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

func TestConformance(t *testing.T) {
	server := zktest.Start(t, zktest.Options{})
	conformance(t, []*zktest.Server{server})
}

func TestConformanceOfEnsemble(t *testing.T) {
	fulltest.Long(t, "the suite again, on three servers")
	conformance(t, zktest.StartEnsemble(t, 3, zktest.Options{}).Servers)
}

func TestAdmin(t *testing.T) {
	server := zktest.Start(t, zktest.Options{})
	coordtest.RunAdmin(t, func(testing.TB) coordtest.Harness {
		return coordtest.Harness{Client: participant([]string{server.Addr}, rand.Text())}
	})
}

// conformance runs the suite on servers that all cases share.
func conformance(t *testing.T, servers []*zktest.Server) {
	t.Helper()
	var addrs []string
	for _, s := range servers {
		addrs = append(addrs, s.Addr)
	}
	var operators []operator
	for _, addr := range addrs {
		operators = append(operators, newOperator(t, []string{addr}))
	}
	localtest.Conform(t, func(tb testing.TB) coordtest.Harness {
		tb.Helper()
		ns := rand.Text()
		return coordtest.Harness{
			Client:         participant(addrs, ns),
			OtherNamespace: participant(addrs, rand.Text()),
			Expire: func(tb testing.TB, g coord.Grant) {
				tb.Helper()
				endSession(tb, operators[0], servers[0], ns, g.WorkerID)
				for _, o := range operators { // a server that lags would still show who held it
					if id := o.owner(tb, ns, g.WorkerID); id != 0 {
						tb.Fatalf("session %#x holds what was ended", id)
					}
				}
			},
			RaiseFloor: func(tb testing.TB, tick int64) {
				tb.Helper()
				raiseFloor(tb, addrs, ns, tick)
			},
			Sticky: true,
		}
	})
}

// participant makes participants. The suite's requests stay within 30 s of the
// present.
func participant(servers []string, namespace string) func(testing.TB, coord.Range) coord.Coordinator {
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
