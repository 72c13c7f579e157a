package protocol_test

import (
	"context"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
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
						raiseFloor(tb, newCoordinator(tb, servers[0], nil), tick)
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

var space = coord.Space{
	Fingerprint: "41/10/12/1ms/2024-01-01T00:00:00Z", LastTick: 1<<41 - 1, Capacity: 1024,
	Scale: clock.Scale{Epoch: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(), Unit: 1000},
}

// raiseFloor raises the floor of a namespace, which it makes if need be.
func raiseFloor(tb testing.TB, c *protocol.Coordinator, tick int64) {
	tb.Helper()
	ctx := context.Background()
	if slots, err := c.List(ctx); err != nil {
		tb.Fatal(err)
	} else if len(slots) == 0 {
		if err := c.Init(ctx, space); err != nil {
			tb.Fatal(err)
		}
	}
	if _, err := c.Quarantine(ctx, time.UnixMicro(space.Scale.Micro(tick))); err != nil {
		tb.Fatal(err)
	}
}
