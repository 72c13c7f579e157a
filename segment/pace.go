package segment

import "time"

const (
	// leastTime is how long a rate is measured at least: what a burst of a millisecond needs is no
	// measure of what a quarter of an hour needs.
	leastTime = time.Second
	// fewRefills is how many refills a segment has to outlast for its mark to be late.
	fewRefills = 4
)

// rateOf is how many numbers a second were used, if so many were used in a time.
func rateOf(used int64, took time.Duration) float64 {
	return float64(used) / max(took, leastTime).Seconds()
}

// measure notes the rate when so many numbers of the present segment are used. As long as less than
// leastTime has passed, that is a bound below which the rate is not, so it raises what was known
// before and does not lower it.
func (f *figures) measure(used int64, now time.Time) {
	took := now.Sub(f.since)
	if rate := rateOf(f.used+used, took); rate > f.rate || took >= leastTime {
		f.rate = rate
	}
}

// turn notes that the present segment is used up, and had a size.
func (f *figures) turn(size int64, now time.Time) {
	if f.used += size; now.Sub(f.since) >= leastTime {
		f.since, f.used = now, 0
	}
}

// stepAfter is the size of the next segment after one of a size, within least and most: what lasts
// for the hold at a rate, at once if that is more, because a burst is to need one refill and not
// ten; and half as many if a segment lasts longer than twice the hold.
func stepAfter(size int64, rate float64, hold time.Duration, least, most int64) int64 {
	wanted := rate * hold.Seconds()
	switch {
	case wanted >= float64(most):
		size = most
	case wanted > float64(size):
		size = int64(wanted)
	case wanted*2 < float64(size):
		size /= 2
	}
	return min(max(size, least), most)
}

// markAt is after how many numbers of a segment the next one is taken: where what is left lasts for
// half of the hold, so that little is held for nothing. While the rate is not known, and if the
// segment would not outlast a few refills, it is after a tenth.
func markAt(size int64, rate float64, hold, refill time.Duration) int64 {
	early := max(1, size/10)
	if rate <= 0 || float64(size) < rate*fewRefills*refill.Seconds() {
		return early
	}
	left := rate * hold.Seconds() / 2
	if left >= float64(size) {
		return early
	}
	return min(max(early, size-int64(left)), size)
}
