package protocol

import (
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
	return &coord.ClockSkewError{
		Local:     Time(local),
		Reference: Time(min(max(local, right.Low), right.High)), Max: bound,
	}
}

// checkClock compares a clock, which says now, with that of the back end at a survey, if it
// has one.
func (c *Coordinator) checkClock(sv *Survey, now int64) error {
	if c.set.OneMachine || sv.Server == 0 { //mutant:one-clock
		return nil
	}
	return CheckClock(sv.during(now), Span{sv.Server, sv.Server + sv.Unit}, c.set.SkewBound)
}

// floorClock returns the time for a floor that is raised after a survey, now being this
// machine's clock. If the back end has a clock, it is the latest that this one may have said,
// and the error is a [*coord.ClockSkewError] if this machine's differs. If it has none, it is the
// latest of this machine's and of what the holders have said at their last renewals, because a
// floor that is too low protects nobody.
func (c *Coordinator) floorClock(s Session, sv *Survey, now int64) (int64, error) {
	if sv.Server != 0 {
		return s.Time() + sv.Unit/2, c.checkClock(sv, now)
	}
	latest, earliest := now, now
	for _, said := range sv.marks() {
		latest, earliest = max(latest, said.Low), min(earliest, said.High)
	}
	if far := time.Duration(latest-earliest) * time.Microsecond; far > c.set.SkewBound {
		c.log.Warn("the clocks of the holders and of this machine differ, or holders are gone; the "+
			"floor is raised by the latest: "+lowerHint,
			"namespace", c.set.Namespace, "apart", far)
	}
	return latest, nil
}

// lowerClock returns the time for a floor that is lowered after a survey: that of floorClock,
// but for the clocks of holders, one of which may be what has raised it too far. If all of them
// are ahead of this machine's, the error is a [*coord.ClockSkewError].
func (c *Coordinator) lowerClock(s Session, sv *Survey, now int64) (int64, error) {
	if sv.Server != 0 {
		return c.floorClock(s, sv, now)
	}
	first := int64(0)
	for _, said := range sv.marks() {
		if first == 0 || said.Low < first {
			first = said.Low
		}
	}
	return now, CheckClock(Span{now, now}, Span{first, max(first, now)}, c.set.SkewBound)
}
