package keeper

import "time"

const (
	// longestCall bounds the first deadline of a renewal or release, shortestCall all
	// of them from below.
	longestCall  = 1500 * time.Millisecond
	shortestCall = 250 * time.Millisecond

	// longestAcquire bounds the first deadline of an acquisition, which takes several
	// round trips with some back ends.
	longestAcquire = 5 * time.Second
)

// Deadline says how long the next call of one kind may take. It begins at base,
// doubles with every time-out up to most, and follows the latency of a call that
// succeeded: a coordinator that is slow is waited for, and one that was slow and is
// fast again is not.
//
// An error that comes back early, from a refused connection for example, says nothing
// about how long a reply takes, and changes nothing.
type Deadline struct {
	base time.Duration // the shortest one, and the first
	most time.Duration // the longest one that time-outs lead to
	ttl  time.Duration // the longest one that a slow success leads to
	wait time.Duration // the next one
	took time.Duration // the latency of the last success
}

// newDeadline returns a deadline that begins at base.
func newDeadline(base, most, ttl time.Duration) Deadline {
	return Deadline{base: base, most: max(most, base), ttl: max(ttl, base), wait: base}
}

// RenewDeadline returns the deadline of renewals and releases. Time-outs lead to one
// renewal interval at the most: then a coordinator that does not answer gets no more
// requests than one that does, and its return is noticed within one interval.
func RenewDeadline(every, ttl time.Duration) Deadline {
	return newDeadline(max(min(every, longestCall), shortestCall), every, ttl)
}

// acquireDeadline returns the deadline of acquisitions. It begins at a part of the
// TTL, so that a lost reply leaves time to ask again before a start gives up. Time-outs
// lead no further than those of renewals.
func acquireDeadline(every, ttl time.Duration) Deadline {
	return newDeadline(max(min(ttl/3, longestAcquire), shortestCall), every, ttl)
}

// inAll is how long a call is tried which is not tried for ever: a few calls, but not
// longer than a lease lasts by itself.
func (d *Deadline) inAll() time.Duration { return min(max(3*d.base, 2*d.wait), d.ttl) }

// missed notes that a call was not answered in time. What a slow success led to above
// most is cut to what an ordinary call takes: in an outage, the next attempt is not put
// off for longer than that.
func (d *Deadline) missed() {
	d.wait = min(2*d.wait, max(d.most, min(d.took*3/2, d.wait)))
}

// met notes that a call succeeded, and how long that took. Three times as much is
// what an ordinary hiccup takes.
func (d *Deadline) met(took time.Duration) {
	d.took, d.wait = took, max(min(3*took, d.ttl), d.base)
}

// within returns the next deadline if so much is left of the window: at most half of
// that, so that one more attempt can still succeed inside the window. It is not cut
// below what an ordinary call takes, because then no attempt would succeed at all.
// After the window's end there is nothing to be saved by a hurry.
func (d *Deadline) within(left time.Duration) time.Duration {
	if left <= 0 {
		return d.wait
	}
	return min(d.wait, max(left/2, d.took*3/2, d.base))
}
