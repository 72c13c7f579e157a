package zk_test

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord/zk"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

func TestConformance(t *testing.T) {
	server := zktest.Start(t, zktest.Options{})
	servers, o := []string{server.Addr}, newOperator(t, []string{server.Addr})
	drivertest.Conformance(t, func(testing.TB) drivertest.Driver {
		return drivertest.Driver{
			Open: func(tb testing.TB, ns string) drivertest.Operator {
				tb.Helper()
				// The suite's requests stay within 30 s of the present.
				return newCoordinator(tb, servers, ns, &zk.Options{SkewBound: 40 * time.Second})
			},
			Expire: func(tb testing.TB, ns string, worker int) {
				tb.Helper()
				endSession(tb, o, server, ns, worker)
			},
		}
	})
}
