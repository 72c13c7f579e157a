package protocol_test

import (
	"errors"
	"testing"

	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// TestDamagedSlotOfAnIdentity: what belongs to the slot that an identity had last is damaged.
// That is no reason to grant nothing.
func TestDamagedSlotOfAnIdentity(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		server := memstore.NewServer("a")
		c, st := tap(t, server, nil)
		req := wants("first")
		req.Identity = "host"
		g := mustAcquire(t, c, req)
		if err := c.Release(t.Context(), g, g.NotBefore); err != nil {
			t.Fatal(err)
		}
		damage, others := errors.New("damaged"), 0
		st.refuse = func(change protocol.Change) (out protocol.Outcome) {
			switch {
			case change.Slot.Worker == g.WorkerID:
				out = protocol.Outcome{Conflict: protocol.ConflictSlot, Damage: damage}
			case others == 0: // somebody is faster, so that there is a second round
				others++
				out = protocol.Outcome{Conflict: protocol.ConflictElsewhere, Damage: damage}
			}
			return out
		}
		req = wants("second")
		req.Identity = "host"
		req.OpenBy = req.Now + 100_000
		if h := mustAcquire(t, c, req); h.WorkerID == g.WorkerID {
			safetytest.Of(t).Errorf("granted was %v; want another worker ID", h)
		}
	})
}
