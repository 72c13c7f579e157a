package follow_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/follow"
)

// TestFollowLongWindows: a namespace with short windows follows one with long ones when the last
// of those is as near as its own, because it waits no longer when its floor is lost.
func TestFollowLongWindows(t *testing.T) {
	for name, c := range map[string]struct {
		ahead, lost, old, next time.Duration
		refused                bool
	}{
		"near":            {ahead: time.Minute, old: 6 * time.Hour},
		"far":             {ahead: 3 * time.Hour, old: 6 * time.Hour, refused: true},
		"far, forgotten":  {lost: 3 * time.Hour, old: 6 * time.Hour, refused: true},
		"far, as long":    {ahead: 3 * time.Hour, old: 6 * time.Hour, next: 6 * time.Hour},
		"far, shorter":    {ahead: 3 * time.Hour, old: 6 * time.Hour, next: time.Hour, refused: true},
		"far, undeclared": {ahead: 3 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			prev, space := existing(), followSpace()
			in := func(d time.Duration) int64 { return space.Scale.Tick(time.Now().Add(d).UnixMicro()) }
			prev.space.MaxHorizon, space.MaxHorizon = c.old, c.next
			prev.add(0, coord.SlotFree, in(c.ahead))
			if c.lost != 0 {
				prev.lost = in(c.lost)
			}
			next := &ledger{}
			_, err := follow.Namespace(t.Context(), next, prev, space)
			switch {
			case !c.refused && err != nil:
				t.Error(err)
			case c.refused && (!errors.Is(err, coord.ErrInvalid) ||
				!strings.Contains(err.Error(),
					"the old namespace was declared with windows of up to 6h0m0s, and its last one ends at")):
				t.Errorf("err = %v; want it refused", err)
			case c.refused && next.writes()+prev.writes() > 0:
				t.Errorf("it was refused after writes: %v, %v", next.calls, prev.calls)
			}
		})
	}
}

// TestFollowInterruptedHorizon: an interrupted run is not gone on with under another horizon.
func TestFollowInterruptedHorizon(t *testing.T) {
	prev, space := existing().add(0, coord.SlotFree, 500), followSpace()
	prev.add(3, coord.SlotRetired, 600)
	space.MaxHorizon = time.Hour
	next := &ledger{}
	for _, horizon := range []time.Duration{time.Hour, time.Hour, 2 * time.Hour, 0} {
		space.MaxHorizon = horizon
		_, err := follow.Namespace(t.Context(), next, prev, space)
		if refused := errors.Is(err, coord.ErrInvalid); refused != (horizon != time.Hour) {
			t.Errorf("with %v: %v", horizon, err)
		}
	}
}
