package protocol_test

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// TestClosingRecordsALoss: who closes a namespace and has noticed that windows were lost
// puts that on record: above the end of the layout no floor tells of them, and whoever
// follows the namespace would begin below.
func TestClosingRecordsALoss(t *testing.T) {
	for name, closer := range map[string]func(*memstore.Server, coord.Coordinator) coord.Coordinator{
		"by who has seen more": func(_ *memstore.Server, c coord.Coordinator) coord.Coordinator { return c },
		"by who sees another lineage": func(s *memstore.Server, _ coord.Coordinator) coord.Coordinator {
			s.Move("b")
			return newCoordinator(t, s, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := memstore.NewServer("a")
			server.Clock = clock.System().UnixMicro
			var c coord.Coordinator = newCoordinator(t, server, nil)
			now := space.Scale.Tick(clock.System().UnixMicro())
			g, err := c.Acquire(t.Context(), coord.Request{
				Token: "t", Holder: "test", TTL: 10 * time.Second, Workers: coord.Range{Count: 1}, Capacity: space.Capacity,
				Fingerprint: space.Fingerprint, Scale: space.Scale, LastTick: space.LastTick, Now: now, Until: now + 1000, OpenBy: now,
			})
			if err != nil {
				t.Fatal(err)
			}
			restore := server.Snapshot()
			if g, err = c.Renew(t.Context(), g, now+60_000); err != nil {
				t.Fatal(err)
			}
			restore()
			c = closer(server, c)
			if _, err := c.(coord.Admin).Quarantine(t.Context(), time.UnixMicro(space.Scale.Micro(space.LastTick))); err != nil {
				t.Fatal(err)
			}
			n, err := c.(coord.Admin).Inspect(t.Context())
			if err != nil || !n.Closed || space.Scale.Tick(n.Lost.UnixMicro()) <= g.NotAfter {
				t.Errorf("%v was lost, and the namespace shows %+v, %v", g, n, err)
			}
		})
	}
}
