//go:build unix

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/unalike-id/unalike/core"
)

// run is consecutive IDs.
type idRun struct{ first, last core.ID }

// tally is the IDs that one caller has had, in order. Hundreds of millions need little memory, because a
// generator at full speed issues them in runs.
type tally struct {
	runs  []idRun
	last  map[int]core.ID // by worker ID
	count int
}

// add notes an ID. The error is that IDs of its worker ID do not rise.
func (y *tally) add(id core.ID) error {
	y.count++
	if n := len(y.runs); n > 0 && y.runs[n-1].last+1 == id {
		y.runs[n-1].last = id
	} else {
		y.runs = append(y.runs, idRun{id, id})
	}
	layout := core.DefaultLayout()
	worker := int(id>>layout.SequenceBits) & (layout.Workers() - 1)
	if y.last == nil {
		y.last = map[int]core.ID{}
	}
	if before, ok := y.last[worker]; ok && id <= before {
		return fmt.Errorf("worker ID %d: %v came after %v", worker, id, before)
	}
	y.last[worker] = id
	return nil
}

// addLines notes the IDs of a reply, which has one in each line.
func (y *tally) addLines(body string, count int) error {
	got := 0
	for line := range strings.Lines(body) {
		id, err := core.ParseID(strings.TrimSuffix(line, "\n"))
		if err == nil {
			err = y.add(id)
		}
		if err != nil {
			return err
		}
		got++
	}
	if got != count {
		return fmt.Errorf("a reply has %d IDs; %d were asked for", got, count)
	}
	return nil
}

// tallies are those of several callers.
type tallies struct {
	mu  sync.Mutex
	all []*tally
}

// another adds a caller.
func (a *tallies) another() *tally {
	a.mu.Lock()
	defer a.mu.Unlock()
	y := new(tally)
	a.all = append(a.all, y)
	return y
}

// check counts all IDs, and looks for any that came twice. Nobody may add any more.
func (a *tallies) check(t *testing.T) (count int) {
	t.Helper()
	var runs []idRun
	for _, y := range a.all {
		runs = append(runs, y.runs...)
		count += y.count
	}
	slices.SortFunc(runs, func(a, b idRun) int { return cmp.Compare(a.first, b.first) })
	for i := 1; i < len(runs); i++ {
		if runs[i].first <= runs[i-1].last {
			t.Errorf("%v and what follows it came twice", runs[i].first)
		}
		runs[i].last = max(runs[i].last, runs[i-1].last)
	}
	return count
}

// TestTally: the check of the other tests notices what they look for.
func TestTally(t *testing.T) {
	var a tallies
	one, two := a.another(), a.another()
	const first = core.ID(404187712413696000)
	for i := range core.ID(5) {
		if err := one.add(first + i); err != nil {
			t.Fatal(err)
		}
	}
	if err := two.addLines("404187712413696005\n404187712413696007\n", 2); err != nil {
		t.Fatal(err)
	}
	if n := a.check(t); n != 7 {
		t.Errorf("%d IDs", n)
	}
	if two.addLines("404187712413696007\n", 1) == nil || two.addLines("404187712413696009\n", 2) == nil || two.addLines("x\n", 1) == nil {
		t.Error("an ID that does not rise, a short reply, or rubbish passes")
	}
	if err := two.add(first + 3); err == nil {
		t.Error("a smaller ID of the same worker ID passes")
	}
	inner := new(testing.T)
	if a.check(inner); !inner.Failed() {
		t.Error("an ID that came twice passes")
	}
}
