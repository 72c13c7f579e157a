package local

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// TestConformance: with marks that reach as far as the windows of the suite, the wrapper is a
// coordinator like any other.
func TestConformance(t *testing.T) {
	coordtest.Run(t, func(tb testing.TB) coordtest.Harness {
		tb.Helper()
		servers := [2]*memstore.Server{memstore.NewServer("a"), memstore.NewServer("b")}
		dir, n := tb.TempDir(), 0
		participant := func(s *memstore.Server) func(testing.TB, coord.Range) coord.Coordinator {
			s.Clock = clock.System().UnixMicro
			return func(tb testing.TB, _ coord.Range) coord.Coordinator {
				tb.Helper()
				n++
				c, err := New(memoryCoordinator(tb, s), filepath.Join(dir, fmt.Sprintf("state%d", n)),
					Options{Window: MaxWindow})
				return drivertest.Closing(tb, c, err)
			}
		}
		return coordtest.Harness{
			Client:         participant(servers[0]),
			OtherNamespace: participant(servers[1]),
			Expire:         func(_ testing.TB, g coord.Grant) { servers[0].Expire(g.WorkerID) },
			RaiseFloor: func(tb testing.TB, tick int64) {
				tb.Helper()
				drivertest.RaiseFloor(tb, memoryCoordinator(tb, servers[0]), tick)
			},
			Sticky: true,
		}
	})
}
