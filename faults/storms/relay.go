package storms

import (
	"math/rand/v2"
	"time"
)

// Times of a relay: the next line is cut when somebody has taken what the last one held, and before that one is whole
// again.
var (
	relayGap   = span{3500 * time.Millisecond, 9 * time.Second}
	relayLasts = span{6 * time.Second, 14 * time.Second}
	relayPause = span{time.Second, 4 * time.Second} // in which a line is whole
)

// relay returns the events of lines that are cut one by one, in turn.
func relay(rng *rand.Rand, length time.Duration, lines int) []Event {
	var events []Event
	whole := make([]time.Duration, lines) // for long enough
	at := quiet + span{0, relayGap.high}.any(rng)
	for p := 0; ; p = (p + 1) % lines {
		at = max(at, whole[p])
		lasts := relayLasts.any(rng)
		if at+lasts > length {
			return sorted(events)
		}
		e := Event{At: at, Target: lineOf(p), What: losing[rng.IntN(len(losing))]}
		ended := e
		ended.At, ended.Ends = at+lasts, true
		events = append(events, e, ended)
		whole[p] = ended.At + relayPause.any(rng)
		at += relayGap.any(rng)
	}
}

// merge returns the events of two plans in one.
func merge(a, b []Event) []Event { return sorted(append(a, b...)) }
