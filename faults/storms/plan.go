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
	Target string        // to what it happens: "servers", "network", "operator", "process 2", "clock 2", "line 2"
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

// quiet is how long nothing happens at first, so that every generator has its worker IDs.
const quiet = 3 * time.Second

// plan returns the events of a storm of the given length, in the order in which they happen. Targets and their
// faults come from the fleet and the back end. Every fault that begins also ends within the storm. Faults of one target
// never overlap; those of different ones do.
func plan(rng *rand.Rand, length time.Duration, targets map[string]target) []Event {
	var events []Event
	names := make([]string, 0, len(targets))
	for name := range targets {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		t := targets[name]
		at := quiet + span{0, t.times.gap.high}.any(rng)
		for {
			what := t.faults[rng.IntN(len(t.faults))]
			lasts := t.times.length(rng, what)
			if at+lasts > length {
				break
			}
			e := Event{At: at, Target: name, What: what, Amount: amount(rng, what)}
			ended := e
			ended.At, ended.Ends = at+lasts, true
			events = append(events, e, ended)
			at += lasts + t.times.gap.any(rng)
		}
	}
	return sorted(events)
}

// sorted returns events in the order in which they happen.
func sorted(events []Event) []Event {
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Or(cmp.Compare(a.At, b.At), strings.Compare(a.Target, b.Target)) })
	return events
}

// amount returns by how much a fault of that name changes something; 0: it has no such thing.
func amount(rng *rand.Rand, what string) time.Duration {
	switch what {
	case clockStep:
		d := span{time.Millisecond, 15 * time.Second}.any(rng)
		if rng.IntN(2) == 0 {
			return -d
		}
		return d
	case slowRequests, slowReplies:
		return span{5 * time.Millisecond, 1500 * time.Millisecond}.any(rng)
	case quarantine:
		return span{0, 5 * time.Second}.any(rng)
	}
	return 0
}
