// Package numbertest has what tests of stores of segments on real servers share: tags that are
// damaged, and a ledger of the numbers that were given out.
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
	mu   sync.Mutex
	runs []segment.Range
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
}

// Check fails if a number was given out twice, or none was. Nobody notes any more.
func (l *Ledger) Check(tb testing.TB) {
	tb.Helper()
	for _, text := range l.twice() {
		tb.Error(text)
	}
	if len(l.runs) == 0 {
		tb.Error("no number was given out")
	}
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
