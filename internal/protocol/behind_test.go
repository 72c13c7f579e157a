package protocol_test

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// TestKnownFloorHeld: a loss was dealt with, and there is a second one. The clock is ten
// minutes behind with which the floor is raised then, and nothing tells that. The floor
// that is known of the first loss holds on.
func TestKnownFloorHeld(t *testing.T) {
	for name, server := range map[string]bool{"own clock": false, "clock of the back end": true} {
		for how, lose := range losses {
			runInOurTime(t, name+", "+how, func(t *testing.T) {
				own, behind := &shifted{}, &shifted{}
				back := memstore.NewServer("a")
				if server {
					back.Clock = behind.UnixMicro
				} else {
					own = behind
				}
				p, _ := tap(t, back, own)
				g, restore := lossDealtWith(t, back, p)
				want := back.Meta()
				lose(back, restore)
				behind.by = -10 * time.Minute
				notices(t, p, g)
				if got := back.Meta(); got.Floor < want.Floor || got.Loss == want.Loss {
					safetytest.Of(t).Errorf("the namespace was %+v, and a clock that is behind has made it %+v",
						want, got)
				}
			})
		}
	}
}

// lossDealtWith has a process deal with a loss. It returns what the process holds, and what
// puts the server back to what it was before.
func lossDealtWith(t *testing.T, server *memstore.Server,
	p *protocol.Coordinator,
) (g coord.Grant, restore func()) {
	t.Helper()
	g = mustAcquire(t, p, within("p", coord.Range{Count: 1}))
	restore = server.Snapshot()
	g = mustRenew(t, p, g, 1)
	restore()
	notices(t, p, g)
	if server.Meta().Loss == (protocol.Loss{}) {
		safetytest.Of(t).Fatal("no loss is on record")
	}
	return g, restore
}
