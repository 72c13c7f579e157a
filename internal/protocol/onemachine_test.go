package protocol_test

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// TestHolderSeenOnOneMachine: a holder that renewed just now is alive, so that its worker ID is not waited for. Where the back
// end is of one machine it may have been killed together with that, and nothing is said of it.
func TestHolderSeenOnOneMachine(t *testing.T) {
	for _, one := range []bool{false, true} {
		declare(t, func(t *testing.T, d *declared) {
			c, err := protocol.New(memstore.Store{Server: d.server}, protocol.Settings{
				Driver: "memory", Title: "the memory", Namespace: "orders", MinTTL: time.Second, MaxHorizon: 2 * time.Minute,
				SkewBound: time.Second, OneMachine: one, Clock: rightClock{}, Logger: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			holder := mustAcquire(t, c, requestIn(d.space, rightClock{}, "holder"))
			req := requestIn(d.space, rightClock{}, "next")
			req.Workers = coord.Range{First: holder.WorkerID, Count: 1}
			_, err = c.Acquire(t.Context(), req)
			full, ok := errors.AsType[*coord.NoWorkerIDError](err)
			if !ok || full.Soonest.IsZero() || full.LastSeen.IsZero() != one {
				t.Errorf("one machine %t: %+v, %v", one, full, err)
			}
		})
	}
}
