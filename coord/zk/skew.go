package zk

import (
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

// checkSkew compares a clock with the leader's, which said milli, in milliseconds
// since 1970, at some moment while the clock went from earliest to latest, in
// microseconds.
func checkSkew(earliest, latest, milli int64, bound time.Duration) error {
	leader := milli * 1000
	local := min(max(leader, earliest), latest) // as near as it can have been
	// The leader's reading is rounded down to its unit.
	if d := local - leader; d >= -bound.Microseconds() && d <= bound.Microseconds()+1000 {
		return nil
	}
	return &coord.ClockSkewError{Local: protocol.Time(local), Reference: protocol.Time(leader), Max: bound}
}
