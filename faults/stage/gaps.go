package stage

import (
	"cmp"
	"slices"
	"time"

	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/worker"
)

// span is a time on the clock of journal.Now.
type span struct{ from, to int64 }

// Excuse says that no IDs were expected between two moments, see journal.Now. That time does not
// count as an interruption.
func (s *Stage) Excuse(from, to int64) { s.excused = append(s.excused, span{from, to}) }

// Interruption returns the longest time without an ID so far, of any worker: from the first ID on,
// to now or to the end of the scenario, without the time that was excused.
func (s *Stage) Interruption() time.Duration {
	s.Helper()
	var at []int64
	for run := range s.Runs(s.all()...) {
		at = append(at, run.At)
	}
	return longestGap(at, s.excused, cmp.Or(s.end, journal.Now()))
}

// Uninterrupted fails the stage if there was an interruption of more than limit so far.
func (s *Stage) Uninterrupted(limit time.Duration) {
	s.Helper()
	if d := s.Interruption(); d > limit {
		s.Errorf("no ID was issued for %v; at most %v is allowed", short(d), limit)
	}
}

// Runs returns the runs in the journals of workers so far.
func (s *Stage) Runs(workers ...*worker.Worker) func(yield func(journal.Run) bool) {
	return func(yield func(journal.Run) bool) {
		s.Helper()
		for _, w := range workers {
			for _, path := range w.Journals() {
				r, err := journal.Open(path)
				if err != nil {
					s.Fatal(err)
				}
				for run := range r.Runs() {
					if !yield(run) {
						break
					}
				}
				_ = r.Close() // it was only read
			}
		}
	}
}

// longestGap returns the longest time between two moments, from the first one to end, less what is
// excused of it.
func longestGap(at []int64, excused []span, end int64) time.Duration {
	slices.Sort(at)
	longest := int64(0)
	for i, from := range at {
		to := end
		if i+1 < len(at) {
			to = at[i+1]
		}
		if to-from > longest {
			longest = max(longest, to-from-overlap(span{from, to}, excused))
		}
	}
	return time.Duration(longest)
}

// overlap returns how much of gap is covered by spans, which may overlap each other.
func overlap(gap span, spans []span) (sum int64) {
	spans = slices.SortedFunc(slices.Values(spans), func(a, b span) int {
		return cmp.Compare(a.from, b.from)
	})
	for _, s := range spans {
		if from, to := max(s.from, gap.from), min(s.to, gap.to); to > from {
			sum += to - from
			gap.from = to
		}
	}
	return sum
}
