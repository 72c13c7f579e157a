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

// relayed are the faults of lines in a relay: no request gets through.
var relayed = []string{lostAll, lostAll, lostRequests, refused}

// relay returns what happens to processes in turn: most of the time a line is cut, else the process ends and starts
// again.
func relay(rng *rand.Rand, length time.Duration, processes int) []Event {
	var events []Event
	whole := make([]time.Duration, processes) // for long enough
	at := quiet + span{0, relayGap.high}.any(rng)
	for p := 0; ; p = (p + 1) % processes {
		at = max(at, whole[p])
		e := Event{Target: lineOf(p), What: relayed[rng.IntN(len(relayed))]}
		lasts := relayLasts.any(rng)
		if rng.IntN(3) == 0 {
			e.Target, e.What = process(p), terminated
		}
		if at+lasts > length {
			return sorted(events)
		}
		ended := e
		e.At, ended.At, ended.Ends = at, at+lasts, true
		events = append(events, e, ended)
		whole[p] = ended.At + relayPause.any(rng)
		at += relayGap.any(rng)
	}
}

// merge returns the events of two plans in one.
func merge(a, b []Event) []Event { return sorted(append(a, b...)) }
