package protocol_test

import (
	"testing"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

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
						return process(tb, s)
					}
				}
				return coordtest.Harness{
					Client:         participant(servers[0]),
					OtherNamespace: participant(servers[1]),
					Expire:         func(_ testing.TB, g coord.Grant) { servers[0].Expire(g.WorkerID) },
					RaiseFloor: func(tb testing.TB, tick int64) {
						tb.Helper()
						drivertest.RaiseFloor(tb, process(tb, servers[0]), tick)
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
			return process(tb, server)
		}}
	})
}

var space = drivertest.Space()
