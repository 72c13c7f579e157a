package protocol_test

import (
	"testing"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// harness connects the suites with a server, and participant makes participants on one.
func harness(server *memstore.Server, participant func(tb testing.TB,
	s *memstore.Server) coord.Coordinator,
) coordtest.Harness {
	other := memstore.NewServer("b")
	other.Clock = server.Clock
	on := func(s *memstore.Server) func(testing.TB, coord.Range) coord.Coordinator {
		return func(tb testing.TB, _ coord.Range) coord.Coordinator {
			tb.Helper()
			return participant(tb, s)
		}
	}
	return coordtest.Harness{
		Client: on(server), OtherNamespace: on(other), Sticky: true,
		Expire: func(_ testing.TB, g coord.Grant) { server.Expire(g.WorkerID) },
		RaiseFloor: func(tb testing.TB, tick int64) {
			tb.Helper()
			drivertest.RaiseFloor(tb, process(tb, server), tick)
		},
	}
}

// TestConformance holds the portable coordinator to the rules of package coord, over
// back ends with and without a clock.
func TestConformance(t *testing.T) {
	for name, micro := range map[string]func() int64{
		"clock of the back end": clock.System().UnixMicro,
		"clocks of the holders": nil,
	} {
		open := func(testing.TB) coordtest.Harness {
			server := memstore.NewServer("a")
			server.Clock = micro
			return harness(server, func(tb testing.TB, s *memstore.Server) coord.Coordinator {
				tb.Helper()
				return process(tb, s)
			})
		}
		t.Run(name, func(t *testing.T) { coordtest.Run(t, open) })
		t.Run(name+", operators", func(t *testing.T) { coordtest.RunAdmin(t, open) })
	}
}

// TestBetween: something happens between two calls of one operation.
func TestBetween(t *testing.T) {
	coordtest.RunBetween(t, func(testing.TB) coordtest.BetweenHarness {
		server, stores := memstore.NewServer("a"), map[coord.Coordinator]*tapped{}
		before := func(c coord.Coordinator, n int, act func()) (acted func() bool) {
			done := false
			stores[c].tap = func(_ string, answered bool) error {
				if answered != (act == nil) || done {
					return nil
				}
				if n--; n > 0 {
					return nil
				}
				if done = true; act == nil {
					return errNoAnswer
				}
				act()
				return nil
			}
			return func() bool { stores[c].tap = nil; return done }
		}
		return coordtest.BetweenHarness{
			Harness: harness(server, func(tb testing.TB, s *memstore.Server) coord.Coordinator {
				tb.Helper()
				c, st := tap(tb, s, nil)
				stores[c] = st
				return c
			}),
			Before: before,
			Lose:   func(testing.TB) func() { return server.Snapshot() },
		}
	})
}

var space = drivertest.Space()
