package protocol_test

import (
	"context"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// TestRefusedIsNoLook: what a refused change has found stored may be visible and not kept, as in a
// database whose commit is under way. It does not do for a renewal, also if that has little time.
func TestRefusedIsNoLook(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		server := memstore.NewServer("a")
		p, st := tap(t, server, nil)
		other := process(t, server)
		g := mustAcquire(t, other, wants("p"))
		overtaken := false
		st.tap = func(call string, answered bool) error {
			switch {
			case answered:
			case call == "look":
				time.Sleep(time.Second)
			case call == "commit" && !overtaken:
				overtaken = true
				mustRenew(t, other, g, 500)
			}
			return nil
		}
		fresh := g
		fresh.Handle = nil
		ctx, cancel := context.WithTimeout(t.Context(), 2200*time.Millisecond)
		defer cancel()
		if r, err := p.Renew(ctx, fresh, g.NotAfter+1000); err != nil || r.NotAfter != g.NotAfter+1000 {
			t.Errorf("Renew of %v whose change was overtaken: %v, %v; want what it has written", g, r, err)
		}
	})
}
