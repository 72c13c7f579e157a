package numbertest

import (
	"testing"

	"github.com/unalike-id/unalike/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// TestLedger: a number that was given out twice is found, wherever it is.
func TestLedger(t *testing.T) {
	for _, tt := range []struct {
		name    string
		entries [][]int64
		twice   int
	}{
		{"none", [][]int64{{1, 2, 3}, {7, 8}, {4, 5, 6}}, 0},
		{"one", [][]int64{{1, 2, 3}, {3, 4}}, 1},
		{"within a run", [][]int64{{1, 2, 3, 4, 9}, {2}}, 1},
		{"twice the same", [][]int64{{5}, {5}, {5}}, 2},
		{"behind a gap", [][]int64{{1, 10}, {2, 3}, {10}}, 1},
	} {
		var l Ledger
		for _, n := range tt.entries {
			l.Note(n)
		}
		if got := l.twice(); len(got) != tt.twice {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}
