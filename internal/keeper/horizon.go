package keeper

import (
	"fmt"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
)

// minHorizonTicks is the shortest window that a renewal asks for.
const minHorizonTicks = 3

// HorizonTicks returns the horizon of a resolved lease in ticks of scale: rounded
// down, and 3 at the least. The error wraps [coord.ErrInvalid] if that is further than
// the rules allow, which happens with very long ticks: what a window may reach
// is what a quarantine has to wait out.
func HorizonTicks(rules coord.LeaseRules, l coord.LeaseConfig, scale clock.Scale) (int64, error) {
	ticks := max(scale.TicksDown(l.Horizon.Microseconds()), minHorizonTicks)
	if limit := rules.HorizonLimit(); ticks > scale.TicksDown(limit.Microseconds()) {
		return 0, fmt.Errorf("%w: Horizon is %v, which makes %d ticks of %v; at most %v is allowed "+
			"here; use a layout with a shorter unit",
			coord.ErrInvalid, l.Horizon, ticks, time.Duration(scale.Unit)*time.Microsecond, limit)
	}
	return ticks, nil
}
