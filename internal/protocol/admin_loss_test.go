package protocol_test

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// TestClosingRecordsALoss: who closes a namespace and has noticed that windows were lost
// puts that on record: above the end of the layout no floor tells of them, and whoever
// follows the namespace would begin below.
func TestClosingRecordsALoss(t *testing.T) {
	for name, closer := range map[string]func(*memstore.Server,
		*protocol.Coordinator) *protocol.Coordinator{
		"by who has seen more": func(_ *memstore.Server, c *protocol.Coordinator) *protocol.Coordinator {
			return c
		},
		"by who sees another lineage": func(s *memstore.Server,
			_ *protocol.Coordinator,
		) *protocol.Coordinator {
			s.Move("b")
			return process(t, s)
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := memstore.NewServer("a")
			c := process(t, server)
			g := mustAcquire(t, c, wants("t"))
			restore := server.Snapshot()
			g = mustRenew(t, c, g, 60_000)
			restore()
			c = closer(server, c)
			if _, err := c.Quarantine(t.Context(),
				time.UnixMicro(space.Scale.Micro(space.LastTick))); err != nil {
				t.Fatal(err)
			}
			n, err := c.Inspect(t.Context())
			if err != nil || !n.Closed || space.Scale.Tick(n.Lost.UnixMicro()) <= g.NotAfter {
				safetytest.Unless(t, err).Errorf("%v was lost, and the namespace shows %+v, %v", g, n, err)
			}
		})
	}
}
