package protocol

import (
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
)

// Span is a span of time, in microseconds since 1970, both ends included. As a reading of a clock,
// it is what the clock can have said; the zero Span is no reading.
type Span struct{ Low, High int64 }

// since returns what a clock says now that has said s between two times, by [lifetime.Now]. Low is
// too early by at most the time between them, and High too late.
func (s Span) since(first, last time.Time) Span {
	if s == (Span{}) {
		return s
	}
	return Span{
		s.Low + lifetime.Since(last).Microseconds(),
		s.High + lifetime.Since(first).Microseconds(),
	}
}

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
	if c.set.OneMachine || !sv.timed() { //mutant:one-clock
		return nil
	}
	return CheckClock(sv.during(now), sv.Server, c.set.SkewBound)
}

const (
	// LongestAllowance is the longest time that [Allowance] returns.
	LongestAllowance = 30 * time.Second
	// leastAllowance is the shortest.
	leastAllowance = 100 * time.Millisecond
)

// Allowance returns how long after a reading of the back end's clock a change that rests on it may
// still be made, see [Change.Deadline]. The request for the reading was sent some time ago, and the
// change may take as long again, or as long as the last one that came too late.
func Allowance(ago, refused time.Duration) time.Duration {
	return min(ago+max(ago, refused)+leastAllowance, LongestAllowance)
}

// refusesLate reports whether the store refuses a change after its deadline.
func (c *Coordinator) refusesLate() bool {
	return c.set.Forgets && c.set.ServerClock && !c.set.OneMachine
}

// settling returns what the back end's clock says when a change is made that rests on a survey: not
// less than Low, which the survey has read, and at most High, which is the deadline of the change
// where the store refuses one that comes later. Elsewhere it is what the clock says by now.
func (c *Coordinator) settling(sv *Survey) Span {
	since := lifetime.Since(sv.began)
	if c.refusesLate() {
		since = Allowance(since, time.Duration(c.tooLate.Load()))
	}
	return Span{sv.Server.Low, sv.Server.High + since.Microseconds()} //mutant:floor-reading
}

// floorClock returns the time at which a floor is raised after a survey, now being this machine's
// clock. If the back end has a clock, it is that of settling, and the error is a
// [*coord.ClockSkewError] if this machine's differs. If it has none, it is the latest of this
// machine's and of what the holders have said at their last renewals, because a floor that is too
// low protects nobody.
func (c *Coordinator) floorClock(sv *Survey, now int64) (Span, error) {
	if sv.timed() {
		return c.settling(sv), c.checkClock(sv, now)
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
	return Span{latest, latest}, nil
}

// lowerClock returns the time for a floor that is lowered after a survey: that of the back end's
// clock, or of this machine's, because a holder's may be what has raised the floor too far. The
// error is a [*coord.ClockSkewError] if the two differ, or if all holders are ahead.
func (c *Coordinator) lowerClock(sv *Survey, now int64) (Span, error) {
	if sv.timed() {
		return sv.Server.since(sv.began, sv.ended), c.checkClock(sv, now)
	}
	first := int64(0)
	for _, said := range sv.marks() {
		if first == 0 || said.Low < first {
			first = said.Low
		}
	}
	own := Span{now, now}
	return own, CheckClock(own, Span{first, max(first, now)}, c.set.SkewBound)
}
