package keeper_test

import (
	"context"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/keeper"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// raise raises the floor to some time from now.
func (r *rig) raise(d time.Duration) int64 {
	floor := r.now() + d.Milliseconds()
	r.led.raiseFloor(floor, 4)
	return floor
}

func TestPieceAboveARaisedFloorIsHeldBackUntilTheOldWindowHasEnded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		end := r.gate.at().notAfter
		floor := r.raise(33 * time.Second)
		for r.now() < end {
			if got := r.gate.at(); got.shut || got.notAfter != end || got.from >= floor || !r.gate.stamp() {
				safetytest.Of(t).Fatalf("tick %d: the window ends at %d, and the term is %+v", r.now(), end,
					got)
			}
			pass(min(50, time.Duration(end-r.now())) * time.Millisecond)
		}
		r.Poke()
		pass(0)
		if got := r.gate.at(); r.now() != end || got.notAfter != end || !r.gate.stamp() {
			safetytest.Of(t).Fatalf("tick %d is the last one of the old window, and the term is %+v",
				r.now(), got)
		}
		pass(time.Millisecond)
		got := r.gate.at()
		if got.Grant.NotBefore != floor || got.Grant.Generation != 1 || r.gate.published() != 2 {
			t.Fatalf("tick %d, after the old window: %+v", r.now(), got)
		}
		for r.now() <= floor {
			if r.gate.stamp() {
				safetytest.Of(t).Fatalf("tick %d was stamped: nobody may use (%d, %d]", r.now(), end, floor)
			}
			pass(50 * time.Millisecond)
		}
		r.serves(time.Minute)
		r.holds(2, 0)
	})
}

// A piece grows while it waits, so that an outage after that is bridged by it.
func TestPieceThatIsHeldBackGrows(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		floor := r.raise(31 * time.Second)
		pass(25 * time.Second)
		r.fake.Refuse(true)
		grown := r.fake.Slot(0).NotAfter
		if grown < floor+10_000 {
			t.Fatalf("stored is tick %d, the floor %d", grown, floor)
		}
		within(t, 10*time.Second, "an ID above the floor", r.stampsAbove(floor))
		if got := r.gate.at(); got.notAfter != grown {
			safetytest.Of(t).Errorf("the piece ends at tick %d, stored is %d", got.notAfter, grown)
		}
	})
}

// Two pieces that wait, and a clock that jumps past both.
func TestClockThatJumpsPastAPieceGoesOnWithTheLastOne(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		r.raise(31 * time.Second)
		stored := func() bool { return r.fake.Slot(0).NotBefore == r.fake.Floor() }
		within(t, 10*time.Second, "a piece is stored", stored)
		r.raise(34 * time.Second)
		within(t, 15*time.Second, "a second piece is stored", stored)
		r.holds(1, 0)
		r.clock.Step(time.Hour)
		pass(time.Millisecond)
		if got := r.gate.at(); got.Grant.NotBefore != r.fake.Floor() {
			safetytest.Of(t).Errorf("after the jump: %+v", got)
		}
		r.Poke()
		r.stamps(20 * time.Millisecond)
	})
}

// scripted is a coordinator that grants (0, end] and renews as it is told.
type scripted struct {
	coord.Coordinator
	end   int64
	renew func(g coord.Grant, until int64) (coord.Grant, error)
}

func (s *scripted) Acquire(_ context.Context, req coord.Request) (coord.Grant, error) {
	if req.MustOpen {
		return coord.Grant{}, coord.ErrNoWorkerID // there is one
	}
	return coord.Grant{Token: req.Token, Generation: 1, NotAfter: s.end}, nil
}

func (s *scripted) Renew(_ context.Context, g coord.Grant, until int64) (coord.Grant, error) {
	return s.renew(g, until)
}

func (s *scripted) Release(context.Context, coord.Grant, int64) error { return nil }

// script makes a keeper of a scripted coordinator. What is stored is not checked.
func script(t *testing.T, window time.Duration, renew func(g coord.Grant, until int64) (coord.Grant,
	error),
) *rig {
	t.Helper()
	s := &scripted{renew: renew}
	r := newRig(t, 1, func(c *keeper.Config) { c.Coordinator = s })
	r.led.fake = nil
	s.end = r.now() + window.Milliseconds()
	r.start()
	return r
}

// stampsAbove makes an ID when it is called, and tells whether it is above a tick.
func (r *rig) stampsAbove(tick int64) func() bool {
	return func() bool { return r.gate.stamp() && r.gate.at().last > tick }
}

func TestEmptyPieceIsOpenedByTheNextRenewal(t *testing.T) {
	each(t, map[string]time.Duration{
		"while it is held back": horizon, "while it is in use": 7 * time.Second,
	}, func(t *testing.T, window time.Duration) {
		floor := scale.Tick(time.Now().UnixMicro()) + 40_000
		r := script(t, window, func(g coord.Grant, until int64) (coord.Grant, error) {
			if floor > g.NotAfter {
				g.NotBefore, g.NotAfter = floor, floor
			}
			g.NotAfter = max(g.NotAfter, until)
			return g, nil
		})
		r.led.gaps[0] = []span{{r.gate.at().notAfter, floor}}
		within(t, 41*time.Second, "an ID above the floor", r.stampsAbove(floor))
		r.serves(time.Minute)
		if n := r.gate.published(); n != 2 {
			t.Errorf("%d terms were published, want 2", n)
		}
	})
}
