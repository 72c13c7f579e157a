package protocol

import (
	"math"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// Span is a span of time, in microseconds since 1970, both ends included.
type Span struct{ Low, High int64 }

// CheckClock compares a clock, of which some reading of a span counts, with others that
// are right and in a span themselves. The error is a [*coord.ClockSkewError] if they
// differ by more than the bound.
func CheckClock(clock, right Span, bound time.Duration) error {
	if b := bound.Microseconds(); clock.High >= right.Low-b && clock.Low <= right.High+b {
		return nil
	}
	local := min(max(right.Low, clock.Low), clock.High)
	return &coord.ClockSkewError{Local: Time(local), Reference: Time(min(max(local, right.Low), right.High)), Max: bound}
}

// ClockForFloor returns the time for a floor by the clock of this machine and that of the
// back end, 0 if it has none. A clock that is off by more than the bound does not count.
func ClockForFloor(now, server int64, bound time.Duration) int64 {
	if server != 0 && CheckClock(Span{now, now}, Span{server, server}, bound) != nil {
		return server
	}
	return max(now, server)
}

// checkClock compares a clock, which was in a span while a survey was made, with that of the
// back end, if it has one.
func (c *Coordinator) checkClock(sv *Survey, clock Span) error {
	if c.set.OneMachine || sv.Server == 0 {
		return nil
	}
	return CheckClock(clock, Span{sv.Server, sv.Server + sv.Unit}, c.set.SkewBound)
}

// floorClock returns the time for a floor that is raised after a survey, now
// being this machine's clock: the latest that a right clock may say, because a floor that is
// too low protects nobody.
//
// If the back end has a clock and this one differs from it, the error is a
// [*coord.ClockSkewError], and the time is the back end's. If it has none, what the holders have
// said at their last renewals counts beside this clock.
func (c *Coordinator) floorClock(s Session, sv *Survey, now int64) (int64, error) {
	if c.set.OneMachine {
		return now, nil
	}
	if sv.Server != 0 {
		if err := c.checkClock(sv, sv.during(now)); err != nil {
			return s.Time(), err
		}
		return max(now, s.Time()), nil
	}
	latest, earliest := now, now
	for _, mark := range sv.marks() {
		latest, earliest = max(latest, mark.Renewed), min(earliest, mark.Renewed+mark.Lease().Microseconds())
	}
	if far := time.Duration(latest-earliest) * time.Microsecond; far > c.set.SkewBound {
		c.log.Warn("the clocks of the holders and of this machine differ, or holders are gone; the floor is raised by the latest: "+lowerHint,
			"namespace", c.set.Namespace, "apart", far)
	}
	return latest, nil
}

// lowerClock returns the time for a floor that is lowered after a survey: that of floorClock,
// but for the clocks of holders, one of which may be what has raised it too far. If all of them
// are ahead of this machine's, the error is a [*coord.ClockSkewError].
func (c *Coordinator) lowerClock(s Session, sv *Survey, now int64) (int64, error) {
	if c.set.OneMachine || sv.Server != 0 {
		return c.floorClock(s, sv, now)
	}
	var behind error
	for _, mark := range sv.marks() {
		if behind = CheckClock(Span{now, now}, Span{mark.Renewed, math.MaxInt64 / 2}, c.set.SkewBound); behind == nil {
			break
		}
	}
	return now, behind
}

// marks are what the holders say at their last renewals. What cannot be read says nothing.
func (sv *Survey) marks() []Mark {
	var all []Mark
	for _, h := range sv.Holders {
		if h.Mark == nil {
			continue
		}
		if mark, err := h.Mark(); err == nil {
			all = append(all, mark)
		}
	}
	return all
}
