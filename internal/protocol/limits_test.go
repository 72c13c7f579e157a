package protocol_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// TestCoordinator_AtItsLimits: with names, windows and holders at the limits of drivers, all calls
// work over a back end without limits.
func TestCoordinator_AtItsLimits(t *testing.T) {
	t.Parallel()
	server := memstore.NewServer("a")
	server.Clock = clock.System().UnixMicro
	l := drivertest.Limits{Workers: drivertest.Most(8 << 10)}
	l.Open = func(tb testing.TB) drivertest.Operator {
		tb.Helper()
		return process(tb, server)
	}
	l.Occupy = func(tb testing.TB, like func(string, int) string) {
		tb.Helper()
		state := server.State()
		first, err := json.Marshal(state.Slots[0].Record)
		if err != nil {
			tb.Fatal(err)
		}
		for id := 1; id < l.Workers; id++ {
			var slot protocol.Slot
			if err := json.Unmarshal([]byte(like(string(first), id)), &slot); err != nil {
				tb.Fatal(err)
			}
			s, err := server.Open(slot.Token, time.Minute, 0)
			if err != nil {
				tb.Fatal(err)
			}
			out, err := s.Commit(tb.Context(), protocol.Change{
				Before: &protocol.View{Meta: state.Meta}, Slot: &slot, Owner: protocol.OwnerTaken,
				Token: slot.Token,
			})
			if err != nil || !out.Done {
				tb.Fatalf("worker ID %d: %+v, %v", id, out, err)
			}
		}
	}
	l.Run(t)
}
