package protocol

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
)

// TestInspectedLoss: what may be lost shows when the floor says nothing any more.
func TestInspectedLoss(t *testing.T) {
	space := coord.Space{
		Fingerprint: "f", Scale: clock.Scale{Epoch: 1_000_000, Unit: 1000},
		LastTick: 1<<41 - 1, Capacity: 1024,
	}
	m := NewMeta(space)
	if got := m.Inspected(); got != (coord.Namespace{Layout: "f", Nonce: m.Nonce}) {
		t.Errorf("a new namespace: %+v", got)
	}
	m = m.AfterLoss(Meta{}, space.Scale.Micro(500),
		Limits{100 * time.Millisecond, 10 * time.Millisecond})
	lost := Time(space.Scale.Micro(m.Loss.Floor + 1))
	if got := m.Inspected(); m.Loss.Floor < 610 ||
		got != (coord.Namespace{Layout: "f", Nonce: m.Nonce, Floor: lost, Lost: lost}) {
		t.Errorf("after a loss at tick 500: %+v; want both until %v", got, lost)
	}
	end := Time(space.Scale.Micro(space.LastTick))
	m, err := m.Quarantine(end)
	if want := (coord.Namespace{
		Layout: "f", Nonce: m.Nonce, Floor: end.Add(time.Millisecond),
		Base: end.Add(time.Millisecond), Closed: true, Lost: lost,
	}); err != nil || m.Inspected() != want {
		t.Errorf("closed: %+v, %v; want %+v", m.Inspected(), err, want)
	}
}
