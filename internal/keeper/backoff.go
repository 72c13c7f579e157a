package keeper

import (
	"math/rand/v2"
	"time"
)

const (
	// shortest and longest bound the pause between two attempts. The longest is
	// well below what an operator calls "at once" after an outage.
	shortestPause = 20 * time.Millisecond
	longestPause  = time.Second

	// longestCall bounds one renewal or release. After an outage, a call that hangs
	// on a dead connection is given up and made again within this time.
	longestCall  = 1500 * time.Millisecond
	shortestCall = 250 * time.Millisecond

	// longestAcquire bounds one acquisition, which takes several round trips with
	// some back ends.
	longestAcquire = 5 * time.Second
)

// backoff gives pauses that double from one to the next, each cut by a random
// amount, so that many holders do not come back at the same moment.
type backoff struct {
	pause, most time.Duration
}

// newBackoff returns a backoff that never pauses longer than every.
func newBackoff(every time.Duration) backoff {
	return backoff{most: max(min(every, longestPause), shortestPause)}
}

// next returns the next pause: between half and all of twice the last one.
func (b *backoff) next() time.Duration {
	b.pause = min(max(2*b.pause, shortestPause), b.most)
	return b.pause/2 + rand.N(b.pause/2)
}

// reset begins again with the shortest pause.
func (b *backoff) reset() { b.pause = 0 }

// jitter returns d less up to a fifth, so that processes that began together do not
// ask together for ever. It is never more than d: what is left of a window at the
// worst moment, and whether a lease outlives an interval, are reckoned with d.
func jitter(d time.Duration) time.Duration {
	return d - rand.N(d/5+1)
}

// callTime is the deadline of one renewal or release.
func callTime(every time.Duration) time.Duration {
	return max(min(every, longestCall), shortestCall)
}

// acquireTime is the deadline of one acquisition. It is a part of the TTL, because
// that is for how long Start tries: a lost reply must leave time to ask again.
func acquireTime(ttl time.Duration) time.Duration {
	return max(min(ttl/3, longestAcquire), shortestCall)
}
