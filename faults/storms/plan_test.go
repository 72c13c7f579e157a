package storms

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// everything is what can happen to a large back end.
var everything = map[string][]string{
	process(0): {killed, frozen}, process(1): {terminated}, clockOf(0): {clockStep},
	"network": {slowReplies, lostAll}, "servers": {frozen, rolling}, "operator": {quarantine},
}

func planOf(seed uint64) []Event {
	return plan(rand.New(rand.NewPCG(seed, 1)), 5*time.Minute, everything)
}

// TestPlanRepeats: a seed is a schedule.
func TestPlanRepeats(t *testing.T) {
	for seed := range uint64(50) {
		if a, b := planOf(seed), planOf(seed); !reflect.DeepEqual(a, b) {
			t.Fatalf("seed %d is %v and then %v", seed, a, b)
		}
	}
	if reflect.DeepEqual(planOf(1), planOf(2)) {
		t.Error("seeds 1 and 2 have one schedule")
	}
}

// TestPlan: what begins ends, within the storm, and before the next thing happens to the same target.
func TestPlan(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(50) {
		var at time.Duration
		on := map[string]string{}
		for _, e := range planOf(seed) {
			switch {
			case e.At < at || e.At < quiet || e.At > 5*time.Minute:
				t.Fatalf("seed %d: %v after %v", seed, e, at)
			case e.Ends && on[e.Target] != e.What, !e.Ends && on[e.Target] != "":
				t.Fatalf("seed %d: %v while %q is on", seed, e, on[e.Target])
			}
			at, on[e.Target] = e.At, e.What
			if e.Ends {
				on[e.Target] = ""
			}
			seen[e.Target+e.What] = true
		}
		for target, what := range on {
			if what != "" {
				t.Errorf("seed %d: %s at %s does not end", seed, what, target)
			}
		}
	}
	for target, faults := range everything {
		for _, what := range faults {
			if !seen[target+what] {
				t.Errorf("%s never happens to %s", what, target)
			}
		}
	}
}
