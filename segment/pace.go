package segment

import "time"

const (
	// leastTime is the shortest time over which a rate is measured: a burst of a millisecond does not
	// show how many numbers a quarter of an hour needs.
	leastTime = time.Second
	// mostGrowth is how many times larger than the present segment the next one is at most.
	mostGrowth = 10
	// fewRefills is how many refills a segment has to outlast for its mark to be late.
	fewRefills = 4
)

// measure notes the rate when so many numbers of the present segment are used, unless it has
// lasted for less than leastTime, together with those before it that did.
func (f *figures) measure(used int64, now time.Time) {
	if took := now.Sub(f.since); took >= leastTime {
		f.rate = float64(f.used+used) / took.Seconds()
	}
}

// turn notes that the present segment is used up, and had a size.
func (f *figures) turn(size int64, now time.Time) {
	if f.used += size; now.Sub(f.since) >= leastTime {
		f.since, f.used = now, 0
	}
}

// stepAfter is the size of the next segment after one of a size, within least and most: what lasts
// for the hold at a rate, but no more than mostGrowth times the size; and half the size if a
// segment lasts longer than twice the hold.
func stepAfter(size int64, rate float64, hold time.Duration, least, most int64) int64 {
	wanted := rate * hold.Seconds()
	switch {
	case wanted > float64(size):
		most := min(mostGrowth*float64(size), float64(most)) //mutant:segment-growth
		size = int64(min(wanted, most))
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
