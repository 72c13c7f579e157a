package storms

import (
	"math/rand/v2"
	"time"
)

// target is something to which faults happen, one at a time.
type target struct {
	faults []string
	times  times
}

// times say how often faults happen to a target, and how long they last.
type times struct {
	gap   span // between two faults
	lasts span
	brief bool // half of them last at most a second
}

// span is from low up to high.
type span struct{ low, high time.Duration }

// usual are the times of most targets: faults last from a moment to longer than a lease and a window.
var usual = times{gap: span{500 * time.Millisecond, 8 * time.Second}, lasts: span{100 * time.Millisecond, 14 * time.Second}, brief: true}

// Times of single faults: how far a rollback goes back, and for how long a process is cut off that does not learn of a
// loss.
var (
	rollbackLasts = span{3 * time.Second, 12 * time.Second}
	behindLasts   = span{time.Second, 18 * time.Second}
)

// any returns a time of the span.
func (s span) any(rng *rand.Rand) time.Duration {
	return s.low + time.Duration(rng.Int64N(int64(s.high-s.low)))
}

// length returns how long a fault lasts.
func (t times) length(rng *rand.Rand, what string) time.Duration {
	switch what {
	case rollback, rolledBelow:
		return rollbackLasts.any(rng)
	case flushBehind:
		return behindLasts.any(rng)
	}
	d := t.lasts.any(rng)
	if t.brief && rng.IntN(2) == 0 {
		d = span{t.lasts.low, time.Second}.any(rng)
	}
	return d
}

// calmer returns the times with pauses that are longer by a factor.
func (t times) calmer(by time.Duration) times {
	t.gap.low, t.gap.high = t.gap.low*by, t.gap.high*by
	return t
}
