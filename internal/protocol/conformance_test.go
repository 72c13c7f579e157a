package protocol_test

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// newCoordinator returns a coordinator over a server that is closed with the test.
func newCoordinator(tb testing.TB, server *memstore.Server, c clock.Clock) *protocol.Coordinator {
	tb.Helper()
	common, err := lifetime.Settings{Clock: c}.Resolve(2*time.Minute, time.Second)
	if err != nil {
		tb.Fatal(err)
	}
	p, err := protocol.New(memstore.Store{Server: server}, protocol.Settings{
		Driver: "memory", Title: "the memory", Namespace: "orders", MinTTL: time.Second, MaxHorizon: 2 * time.Minute,
		SkewBound: common.SkewBound, Clock: common.Clock, Logger: common.Logger, ServerClock: server.Clock != nil,
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = p.Close() })
	return p
}

// TestConformance holds the portable coordinator to the rules of package coord, over
// back ends with and without a clock.
func TestConformance(t *testing.T) {
	for name, micro := range map[string]func() int64{
		"clock of the back end": clock.System().UnixMicro,
		"clocks of the holders": nil,
	} {
		t.Run(name, func(t *testing.T) {
			coordtest.Run(t, func(tb testing.TB) coordtest.Harness {
				tb.Helper()
				servers := [2]*memstore.Server{memstore.NewServer("a"), memstore.NewServer("b")}
				participant := func(s *memstore.Server) func(testing.TB, coord.Range) coord.Coordinator {
					s.Clock = micro
					return func(tb testing.TB, _ coord.Range) coord.Coordinator {
						tb.Helper()
						return newCoordinator(tb, s, nil)
					}
				}
				return coordtest.Harness{
					Client:         participant(servers[0]),
					OtherNamespace: participant(servers[1]),
					Expire:         func(_ testing.TB, g coord.Grant) { servers[0].Expire(g.WorkerID) },
					RaiseFloor: func(tb testing.TB, tick int64) {
						tb.Helper()
						drivertest.RaiseFloor(tb, newCoordinator(tb, servers[0], nil), tick)
					},
					Sticky: true,
				}
			})
		})
	}
}

func TestAdmin(t *testing.T) {
	coordtest.RunAdmin(t, func(testing.TB) coordtest.Harness {
		server := memstore.NewServer("a")
		return coordtest.Harness{Client: func(tb testing.TB, _ coord.Range) coord.Coordinator {
			tb.Helper()
			return newCoordinator(tb, server, nil)
		}}
	})
}

var space = drivertest.Space()
