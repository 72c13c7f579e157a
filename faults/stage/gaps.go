package stage

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/worker"
)

// span is a time on the clock of journal.Now.
type span struct{ from, to int64 }

// Excuse says that no IDs were expected between two moments, see journal.Now. An interruption ends
// where that begins, and begins anew where it ends.
func (s *Stage) Excuse(from, to int64) { s.excused = append(s.excused, span{from, to}) }

// Interruption returns the longest time without an ID so far, of any worker: from the first ID on,
// to now or to the end of the scenario, beside what was excused.
func (s *Stage) Interruption() time.Duration {
	var at []int64
	for run := range s.Runs(s.all()...) {
		at = append(at, run.At)
	}
	return longestGap(at, s.excused, cmp.Or(s.end, journal.Now()))
}

// Uninterrupted fails the stage if there was an interruption of more than limit so far.
func (s *Stage) Uninterrupted(limit time.Duration) {
	if d := s.Interruption(); d > limit {
		s.Errorf("no ID was issued for %v; at most %v is allowed", short(d), limit)
	}
}

// Runs returns the runs in the journals of workers so far.
func (s *Stage) Runs(workers ...*worker.Worker) iter.Seq[journal.Run] {
	return func(yield func(journal.Run) bool) {
		for _, w := range workers {
			for _, path := range w.Journals() {
				for run, err := range journal.Runs(path) {
					if err != nil {
						s.Fatal(err)
					}
					if !yield(run) {
						return
					}
				}
			}
		}
	}
}

// longestGap returns the longest time between two moments, from the first one to end, in which
// nothing is excused.
func longestGap(at []int64, excused []span, end int64) (longest time.Duration) {
	if len(at) == 0 {
		return 0
	}
	first := slices.Min(at)
	at = append(at, end)
	for _, e := range excused {
		at = append(at, max(first, e.from), max(first, e.to))
	}
	slices.Sort(at)
	for i, to := range at[1:] {
		from := at[i]
		if to <= end && !slices.ContainsFunc(excused, func(e span) bool {
			return e.from <= from && to <= e.to
		}) {
			longest = max(longest, time.Duration(to-from))
		}
	}
	return longest
}
