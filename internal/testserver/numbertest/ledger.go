// Package numbertest has tests of stores of segments on real servers that all of them share: many
// tags, many callers, and a server that stands still while numbers are used at a steady rate.
package numbertest

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/unalike-id/unalike/segment"
)

// Ledger is which numbers were given out, as runs.
type Ledger struct {
	mu    sync.Mutex
	runs  []segment.Range
	count int64
}

// Note notes numbers, which rise.
func (l *Ledger) Note(numbers []int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, n := range numbers {
		if i > 0 && n == numbers[i-1]+1 {
			l.runs[len(l.runs)-1].Last = n
		} else {
			l.runs = append(l.runs, segment.Range{First: n, Last: n})
		}
	}
	l.count += int64(len(numbers))
}

// Check fails if a number was given out twice, or none was.
func (l *Ledger) Check(tb testing.TB) {
	tb.Helper()
	for _, text := range l.twice() {
		tb.Error(text)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count == 0 {
		tb.Error("no number was given out")
	}
	tb.Logf("%d numbers in %d runs", l.count, len(l.runs))
}

// twice says which runs overlap.
func (l *Ledger) twice() (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.SortFunc(l.runs, func(a, b segment.Range) int { return cmp.Compare(a.First, b.First) })
	for i := 1; i < len(l.runs); i++ {
		if a, b := l.runs[i-1], l.runs[i]; b.First <= a.Last {
			found = append(found, fmt.Sprintf(
				"the numbers from %d to %d and those from %d to %d were given out", a.First, a.Last, b.First,
				b.Last))
		}
	}
	return found
}
