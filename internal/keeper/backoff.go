package keeper

import (
	"math/rand/v2"
	"time"
)

const (
	// shortestPause and longestPause bound the pause between two attempts. With the longest, and
	// the time that a connection takes, IDs come back within a second after an outage.
	shortestPause = 20 * time.Millisecond
	longestPause  = 900 * time.Millisecond

	// firstSpread is the range of the first pause between two acquisitions.
	firstSpread = 500 * time.Millisecond
)

// backoff gives pauses that double from one to the next, each cut by a random
// amount, so that many holders do not come back at the same moment.
type backoff struct {
	pause, least, most time.Duration
}

// newBackoff returns a backoff that begins with the shortest pause and never pauses
// longer than every.
func newBackoff(every time.Duration) backoff {
	return backoff{least: shortestPause, most: max(min(every, longestPause), shortestPause)}
}

// next returns the next pause: between half and all of twice the last one.
func (b *backoff) next() time.Duration {
	b.grow()
	return b.pause/2 + rand.N(b.pause/2)
}

// spread returns the next pause: anything up to twice the last range. Processes that
// were started together and failed together come back apart.
func (b *backoff) spread() time.Duration {
	b.grow()
	return shortestPause + rand.N(b.pause)
}

// grow doubles the pause.
func (b *backoff) grow() { b.pause = min(max(2*b.pause, b.least), b.most) }

// reset begins again with the shortest pause.
func (b *backoff) reset() { b.pause = 0 }

// jitter returns d less up to a fifth, so that processes that began together do not
// ask together for ever. It is never more than d: what is left of a window at the
// worst moment, and whether a lease outlives an interval, are reckoned with d.
func jitter(d time.Duration) time.Duration {
	return d - rand.N(d/5+1)
}
