package protocol_test

import (
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// TestKnownFloorHeld: a loss was dealt with, and there is a second one. The clock is ten
// minutes behind with which the floor is raised then, and nothing tells that. The floor
// that is known of the first loss holds on.
func TestKnownFloorHeld(t *testing.T) {
	renew := func(t *testing.T, p *protocol.Coordinator, g coord.Grant) error {
		_, err := p.Renew(t.Context(), g, g.NotAfter+1)
		return err
	}
	quarantine := func(t *testing.T, p *protocol.Coordinator, _ coord.Grant) error {
		_, err := p.Quarantine(t.Context(), time.Time{})
		return err
	}
	rolledBack := map[string]func(*memstore.Server, func()){"rolled back": losses["rolled back"]}
	for name, tt := range map[string]struct {
		server, oneMachine bool // whose clock it is; neither: the process's own
		losses             map[string]func(*memstore.Server, func())
		raise              func(*testing.T, *protocol.Coordinator, coord.Grant) error
	}{
		"own clock":                 {losses: losses, raise: renew},
		"clock of the back end":     {server: true, losses: losses, raise: renew},
		"clock of the only machine": {oneMachine: true, losses: losses, raise: renew},
		"clock of an operator":      {losses: rolledBack, raise: quarantine},
	} {
		for how, lose := range tt.losses {
			t.Run(name+", "+how, func(t *testing.T) {
				inOurTime(t, func(t *testing.T) {
					own, behind := &shifted{}, &shifted{}
					server := memstore.NewServer("a")
					if tt.server {
						server.Clock = behind.UnixMicro
					} else {
						own = behind
					}
					p, _ := tap(t, server, own, func(s *protocol.Settings) { s.OneMachine = tt.oneMachine })
					g, restore := lossDealtWith(t, server, p)
					want := server.Meta()
					lose(server, restore)
					behind.by = -10 * time.Minute
					if err := tt.raise(t, p, g); err != nil && !errors.Is(err, coord.ErrQuarantined) && !errors.Is(err, coord.ErrLeaseLost) {
						t.Fatal(err)
					}
					if got := server.Meta(); got.Floor < want.Floor || got.Loss == want.Loss {
						t.Errorf("the namespace was %+v, and a clock that is behind has made it %+v", want, got)
					}
				})
			})
		}
	}
}

// lossDealtWith has a process deal with a loss. It returns what the process holds, and what
// puts the server back to what it was before.
func lossDealtWith(t *testing.T, server *memstore.Server, p *protocol.Coordinator) (g coord.Grant, restore func()) {
	t.Helper()
	g, err := p.Acquire(t.Context(), within("p", coord.Range{Count: 1}))
	if err != nil {
		t.Fatal(err)
	}
	restore = server.Snapshot()
	for range 2 {
		r, err := p.Renew(t.Context(), g, g.NotAfter+1)
		if err != nil && !errors.Is(err, coord.ErrQuarantined) {
			t.Fatal(err)
		}
		if err == nil {
			g = r
			restore()
		}
	}
	if server.Meta().Loss == (protocol.Loss{}) {
		t.Fatal("no loss is on record")
	}
	return g, restore
}
