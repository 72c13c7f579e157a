package protocol_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// TestRefusedIsNoLook: what a refused change has found stored may be visible and not kept, as in a
// database whose commit is under way. It does not do for a renewal that has little time: only a
// look does.
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

// TestLookIsEnough: a renewal was done, and its answer was lost. The next one has no time for as
// much again as it took to look: what is stored goes on without a gap, and does.
func TestLookIsEnough(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		p, st := tap(t, memstore.NewServer("a"), nil)
		g := mustAcquire(t, p, wants("p"))
		st.tap = func(call string, answered bool) error {
			if call == "look" || answered {
				return errNoAnswer
			}
			return nil
		}
		if _, err := p.Renew(t.Context(), g, g.NotAfter+500); !errors.Is(err, errNoAnswer) {
			t.Fatal(err)
		}
		st.tap = func(_ string, answered bool) error {
			if !answered {
				time.Sleep(time.Second)
			}
			return nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2200*time.Millisecond)
		defer cancel()
		if r, err := p.Renew(ctx, g, g.NotAfter+1000); err != nil || r.NotAfter != g.NotAfter+500 {
			t.Errorf("Renew of %v: %v, %v; want what is stored", g, r, err)
		}
	})
}
