package scenarios

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/unalike-id/unalike/faults/backend"
)

// TestAll: each scenario can be named and run, each back end is in the full set and in the short
// one.
func TestAll(t *testing.T) {
	names := map[string]bool{}
	var full, short []string
	for _, sc := range With(0, 0) {
		if !regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`).MatchString(sc.Name) || names[sc.Name] {
			t.Errorf("the name %q is not one in lower case with hyphens, or is there twice", sc.Name)
		}
		names[sc.Name] = true
		if sc.About == "" || sc.Run == nil || len(sc.Backends) == 0 {
			t.Errorf("%s lacks something: %+v", sc.Name, sc)
		}
		full, short = append(full, sc.Backends...), append(short, sc.Short...)
		for _, b := range sc.Short {
			if !slices.Contains(sc.Backends, b) {
				t.Errorf("%s is in the short set on %q, on which it does not run", sc.Name, b)
			}
		}
	}
	for _, set := range [][]string{full, short} {
		slices.Sort(set)
		if on := slices.Compact(set); !slices.Equal(on, backend.Names()) {
			t.Errorf("a set runs on %v; there are %v", on, backend.Names())
		}
	}
}

// TestPlan: a seed repeats its schedule, another one has another, every fault ends within the
// storm, and those of one target never overlap.
func TestPlan(t *testing.T) {
	const length = 2 * time.Minute
	open := map[string]int{}
	schedule := func(seed uint64) (texts []string) {
		var targets []target
		for _, name := range []string{"one", "two"} {
			do := func(by int) func() { return func() { open[name] += by } }
			targets = append(targets, target{
				name,
				[]fault{{name: "a", begin: do(1), end: do(-1)}, {name: "b", begin: do(1), end: do(-1)}},
			})
		}
		last := time.Duration(0)
		for _, e := range plan(rand.New(rand.NewPCG(seed, 1)), length, targets) {
			if e.do(); e.at < last || e.at > length || open["one"] > 1 || open["two"] > 1 {
				t.Errorf("%v: %s: after %v, with %v", e.at, e.text, last, open)
			}
			last = e.at
			texts = append(texts, e.at.String()+e.text)
		}
		if open["one"]+open["two"] != 0 {
			t.Errorf("in the end there are %v", open)
		}
		return texts
	}
	first := schedule(1)
	if len(first) < 20 || !slices.Equal(first, schedule(1)) || slices.Equal(first, schedule(2)) {
		t.Errorf("seed 1 has %d events: %q", len(first), first)
	}
}
