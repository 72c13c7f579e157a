package storms

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Event is something that begins or ends during a storm.
type Event struct {
	At     time.Duration // after the storm has begun
	Target string        // to what it happens: "servers", "network", "operator", "process 2", "clock 2"
	What   string        // the name of the fault
	Ends   bool          // the fault ends; false: it begins
	Amount time.Duration // of a step of a clock, of a delay, of a quarantine
}

func (e Event) String() string {
	verb := "begins"
	if e.Ends {
		verb = "ends"
	}
	s := fmt.Sprintf("%v: %s %s at %s", e.At.Round(time.Millisecond), e.What, verb, e.Target)
	if e.Amount != 0 {
		s += fmt.Sprintf(" (%v)", e.Amount.Round(time.Millisecond))
	}
	return s
}

// Times of a plan. Faults of one target never overlap; those of different ones do.
const (
	// quiet is how long nothing happens at first, so that every generator has its worker IDs.
	quiet = 3 * time.Second
	// shortestGap and longestGap are the pauses between two faults of a target.
	shortestGap = 500 * time.Millisecond
	longestGap  = 8 * time.Second
	// shortest and longest are how long a fault lasts: from a moment to longer than a lease and a window.
	shortest = 100 * time.Millisecond
	longest  = 14 * time.Second
)

// Plan returns the events of a storm of the given length, in the order in which they happen. Targets and their
// faults come from the fleet and the back end. Every fault that begins also ends within the storm.
func plan(rng *rand.Rand, length time.Duration, targets map[string][]string) []Event {
	var events []Event
	names := make([]string, 0, len(targets))
	for name := range targets {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, target := range names {
		at := quiet + between(rng, 0, longestGap)
		for {
			lasts := between(rng, shortest, longest)
			if rng.IntN(2) == 0 {
				lasts = between(rng, shortest, time.Second) // half of them are short
			}
			if at+lasts > length {
				break
			}
			what := targets[target][rng.IntN(len(targets[target]))]
			e := Event{At: at, Target: target, What: what, Amount: amount(rng, what)}
			ended := e
			ended.At, ended.Ends = at+lasts, true
			events = append(events, e, ended)
			at += lasts + between(rng, shortestGap, longestGap)
		}
	}
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Or(cmp.Compare(a.At, b.At), strings.Compare(a.Target, b.Target)) })
	return events
}

// amount returns by how much a fault of that name changes something; 0: it has no such thing.
func amount(rng *rand.Rand, what string) time.Duration {
	switch what {
	case clockStep:
		d := between(rng, time.Millisecond, 15*time.Second)
		if rng.IntN(2) == 0 {
			return -d
		}
		return d
	case slowRequests, slowReplies:
		return between(rng, 5*time.Millisecond, 1500*time.Millisecond)
	case quarantine:
		return between(rng, 0, 5*time.Second)
	}
	return 0
}

// between returns a time from low up to high.
func between(rng *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(rng.Int64N(int64(high-low)))
}
