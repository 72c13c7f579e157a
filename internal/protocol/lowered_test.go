package protocol_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// losses are ways to lose what is stored.
var losses = map[string]func(s *memstore.Server, restore func()){
	"rolled back": func(_ *memstore.Server, restore func()) { restore() },
	"deleted":     func(s *memstore.Server, _ func()) { s.Delete() },
}

// TestLoweredFloorStaysLowered: a wrong clock has raised the floor, and an operator has
// lowered it. A process that has seen both does not raise it again when writes are lost, but
// as far as windows can reach that were lost with them.
func TestLoweredFloorStaysLowered(t *testing.T) {
	for name, lose := range losses {
		runInOurTime(t, name, func(t *testing.T) {
			var wrong atomic.Int64
			server := memstore.NewServer("a")
			server.Clock = func() int64 { return time.Now().UnixMicro() + wrong.Load() }
			p := process(t, server)
			g := mustAcquire(t, p, wants("p"))
			restore := server.Snapshot()
			g = mustRenew(t, p, g, 1)
			restore()
			wrong.Store((365 * 24 * time.Hour).Microseconds())
			notices(t, p, g)
			high := server.Meta().Floor
			wrong.Store(0)
			behind, _ := tap(t, server, &shifted{by: -10 * time.Minute})
			if floor, err := behind.Lower(t.Context()); !errors.Is(err, coord.ErrClockSkew) {
				t.Errorf("lowered by a clock that is behind the back end's: %v, %v", floor, err)
			}
			if _, err := process(t, server).Lower(t.Context()); err != nil || server.Meta().Floor >= high {
				t.Fatalf("Lower: %v; the floor is %d and was %d", err, server.Meta().Floor, high)
			}
			if _, err := p.Inspect(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
			lose(server, restore)
			mustAcquire(t, p, wants("q"))
			switch got, now := server.Meta(), wants("").Now; {
			case got.Floor > now+200_000:
				t.Errorf("the floor was lowered from %d, and is %d ms ahead after a loss", high, got.Floor-now)
			case got.Floor < g.NotAfter:
				safetytest.Of(t).Errorf("the floor is %d, and %v was lost", got.Floor, g)
			}
		})
	}
}

// TestLoweredFloorIsNotMissed: a loss that was dealt with does not count again because the
// floor was higher once, and was lowered.
func TestLoweredFloorIsNotMissed(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		server, far := memstore.NewServer("a"), &shifted{}
		wrong, _ := tap(t, server, far)
		p, operator := process(t, server), process(t, server)
		g := mustAcquire(t, wrong, within("0", coord.Range{Count: 1}))
		held := mustAcquire(t, p, within("1", coord.Range{First: 1, Count: 1}))
		restore := server.Snapshot()
		g = mustRenew(t, wrong, g, 1)
		restore()
		far.by = 24 * time.Hour
		notices(t, wrong, g)
		high := server.Meta().Floor
		notices(t, p, held)
		if _, err := operator.Lower(t.Context()); err != nil || server.Meta().Floor >= high {
			t.Fatalf("Lower: %v; the floor is %d and was %d", err, server.Meta().Floor, high)
		}
		time.Sleep(10 * time.Second)
		restore()
		if _, err := operator.Quarantine(t.Context(), time.Time{}); err != nil {
			t.Fatal(err)
		}
		want := server.Meta()
		notices(t, p, held)
		if got := server.Meta(); got != want || got.Floor >= high {
			t.Errorf("a loss was dealt with as %+v, and then again as %+v", want, got)
		}
	})
}
