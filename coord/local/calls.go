package local

import (
	"math/rand/v2"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
)

const (
	// firstWait bounds the first deadline of a call to the back end, and leastWait all of them, and what a disk is given.
	firstWait = 1500 * time.Millisecond
	leastWait = 250 * time.Millisecond
	// firstPause and longestPause bound the pause after a call that failed.
	firstPause   = 20 * time.Millisecond
	longestPause = time.Second
)

// calls are the renewals of one grant in the back end, one at a time. They are made when the
// keeper asks for a window, and it does not wait for them unless there is nothing left to give.
type calls struct {
	every, ttl time.Duration
	wait       time.Duration // the next deadline; doubled by one that passes
	pause      time.Duration // the next one after a failure
	due        time.Time     // when the next one is to be made
	ended      chan struct{} // closed when the one under way has ended; nil: none is
	failing    error         // why the last one failed; nil: it did not
	late       bool          // because it took longer than it was given
}

// newCalls returns the calls of a grant that was asked for with req: with the interval that is
// set for the back end, or a third of what a lease or a window lasts. The lease that the back end
// has may be shorter than that of the request.
func newCalls(set coord.LeaseConfig, req coord.Request, lease time.Duration) calls {
	horizon := time.Duration(min(req.Scale.Micro(req.Until)-req.Scale.Micro(req.Now), int64(24*time.Hour/time.Microsecond))) * time.Microsecond
	every := set.RenewEvery
	if every == 0 {
		every = max(min(req.TTL, horizon)/3, time.Millisecond)
	}
	if lease < req.TTL {
		every = min(every, max(lease/3, time.Millisecond))
	}
	c := calls{every: every, ttl: req.TTL, wait: max(min(every, firstWait), leastWait)}
	c.due = lifetime.Now().Add(c.interval())
	return c
}

// interval is the time to the next renewal: less than every by what the keeper's may be late,
// and by up to a fifth.
func (c *calls) interval() time.Duration { return c.every - rand.N(c.every/5+1) }

// done notes the outcome of a call.
func (c *calls) done(began time.Time, err error, late bool) {
	took := lifetime.Since(began)
	c.failing, c.late = err, err != nil && late
	if err == nil {
		c.pause = 0
		c.wait = max(min(3*took, c.ttl), min(c.every, firstWait), leastWait)
		c.due = began.Add(c.interval())
		return
	}
	if late {
		c.wait = min(2*c.wait, max(c.ttl, leastWait))
	}
	c.pause = min(max(2*c.pause, firstPause), longestPause)
	c.due = lifetime.Now().Add(c.pause/2 + rand.N(c.pause/2))
}
