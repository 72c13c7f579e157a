package protocol_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// losses are ways to lose what is stored.
var losses = map[string]func(s *memstore.Server, restore func()){
	"rolled back": func(_ *memstore.Server, restore func()) { restore() },
	"deleted":     func(s *memstore.Server, _ func()) { s.Delete() },
}

// TestLoweredFloorStaysLowered: a wrong clock has raised the floor, and an operator has
// lowered it. A process that has seen the first and not the second does not raise it again
// when writes are lost, but as far as windows can reach that were lost with them.
func TestLoweredFloorStaysLowered(t *testing.T) {
	for name, lose := range losses {
		t.Run(name, func(t *testing.T) {
			inOurTime(t, func(t *testing.T) {
				var wrong atomic.Int64
				server := memstore.NewServer("a")
				server.Clock = func() int64 { return time.Now().UnixMicro() + wrong.Load() }
				p, _ := tap(t, server, nil)
				operator, _ := tap(t, server, nil)
				g, err := p.Acquire(t.Context(), wants("p"))
				if err != nil {
					t.Fatal(err)
				}
				restore := server.Snapshot()
				renew := func() {
					t.Helper()
					r, err := p.Renew(t.Context(), g, wants("").Until)
					if err != nil && !errors.Is(err, coord.ErrQuarantined) && !errors.Is(err, coord.ErrLeaseLost) {
						t.Fatal(err)
					}
					if err == nil {
						g = r
					}
				}
				renew()
				restore()
				wrong.Store((365 * 24 * time.Hour).Microseconds())
				renew()
				high := server.Meta().Floor
				wrong.Store(0)
				if _, err := operator.Lower(t.Context()); err != nil {
					t.Fatal(err)
				}
				if floor := server.Meta().Floor; floor >= high {
					t.Fatalf("the floor is %d and was %d", floor, high)
				}
				time.Sleep(10 * time.Second)
				lose(server, restore)
				if _, err := p.Acquire(t.Context(), wants("q")); err != nil {
					t.Fatal(err)
				}
				switch got, now := server.Meta(), wants("").Now; {
				case got.Floor > now+200_000:
					t.Errorf("the floor was lowered from %d, and is %d ms ahead after a loss", high, got.Floor-now)
				case got.Floor < g.NotAfter:
					t.Errorf("the floor is %d, and %v was lost", got.Floor, g)
				}
			})
		})
	}
}

// TestKnownFloorHeldInDoubt: where nothing tells whether the clock is right that raises the
// floor, one that was known holds on.
func TestKnownFloorHeldInDoubt(t *testing.T) {
	for name, lose := range losses {
		t.Run(name, func(t *testing.T) {
			inOurTime(t, func(t *testing.T) {
				server, wrong := memstore.NewServer("a"), &shifted{}
				p, _ := tap(t, server, wrong)
				g, err := p.Acquire(t.Context(), wants("p"))
				if err != nil {
					t.Fatal(err)
				}
				restore := server.Snapshot()
				if g, err = p.Renew(t.Context(), g, g.NotAfter+1); err != nil {
					t.Fatal(err)
				}
				restore()
				if _, err := p.Renew(t.Context(), g, g.NotAfter+1); err != nil && !errors.Is(err, coord.ErrQuarantined) {
					t.Fatal(err)
				}
				want := server.Meta().Floor
				wrong.by = -10 * time.Minute
				lose(server, restore)
				req := wants("q")
				req.Now, req.Until = req.Now-600_000, req.Until-600_000
				if _, err := p.Acquire(t.Context(), req); err != nil {
					t.Fatal(err)
				}
				if got := server.Meta(); got.Floor < want || got.Loss == (protocol.Loss{}) {
					t.Errorf("the floor was %d, and a clock that is behind has made it %d", want, got.Floor)
				}
			})
		})
	}
}

// TestLoweredFloorIsNotMissed: a loss that was dealt with does not count again because the
// floor was higher once, and was lowered.
func TestLoweredFloorIsNotMissed(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		server, far := memstore.NewServer("a"), &shifted{}
		wrong, _ := tap(t, server, far)
		p, _ := tap(t, server, nil)
		operator, _ := tap(t, server, nil)
		grants := map[*protocol.Coordinator]coord.Grant{}
		renew := func(c *protocol.Coordinator) {
			t.Helper()
			if _, err := c.Renew(t.Context(), grants[c], grants[c].NotAfter+1); err != nil && !errors.Is(err, coord.ErrQuarantined) {
				t.Fatal(err)
			}
		}
		for i, c := range []*protocol.Coordinator{wrong, p} {
			g, err := c.Acquire(t.Context(), within(string(rune('0'+i)), coord.Range{First: i, Count: 1}))
			if err != nil {
				t.Fatal(err)
			}
			grants[c] = g
		}
		restore := server.Snapshot()
		renew(wrong)
		restore()
		far.by = 24 * time.Hour
		renew(wrong)
		high := server.Meta().Floor
		renew(p)
		if _, err := operator.Lower(t.Context()); err != nil || server.Meta().Floor >= high {
			t.Fatalf("Lower: %v; the floor is %d and was %d", err, server.Meta().Floor, high)
		}
		time.Sleep(10 * time.Second)
		restore()
		if _, err := operator.Quarantine(t.Context(), time.Time{}); err != nil {
			t.Fatal(err)
		}
		want := server.Meta()
		renew(p)
		if got := server.Meta(); got != want {
			t.Errorf("a loss was dealt with as %+v, and then again as %+v", want, got)
		}
	})
}
