package stage

import (
	"slices"
	"time"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/worker"
)

// span is a time on the clock of journal.Now.
type span struct{ from, to int64 }

// Excuse says that no IDs were expected between two moments, see journal.Now. That time does not count as an
// interruption.
func (s *Stage) Excuse(from, to int64) { s.excused = append(s.excused, span{from, to}) }

// Interruption returns the longest time without an ID so far, of any worker: from the first ID on, to now or to
// the end of the scenario, without the time that was excused.
func (s *Stage) Interruption() time.Duration {
	s.Helper()
	var runs []span
	s.eachRun(s.all(), func(run journal.Run) { runs = append(runs, span{run.From, run.To}) })
	end := s.end
	if end == 0 {
		end = journal.Now()
	}
	return longestGap(runs, s.excused, end)
}

// Largest returns the largest ID that a worker has issued so far; 0: none.
func (s *Stage) Largest(w *worker.Worker) (id core.ID) {
	s.Helper()
	s.eachRun([]*worker.Worker{w}, func(run journal.Run) { id = max(id, run.First+core.ID(run.Count-1)) })
	return id
}

// eachRun calls f for all runs in the journals of workers.
func (s *Stage) eachRun(workers []*worker.Worker, f func(journal.Run)) {
	s.Helper()
	for _, w := range workers {
		for _, path := range w.Journals() {
			r, err := journal.Open(path)
			if err != nil {
				s.Errorf("a journal cannot be read: %v", err)
				continue
			}
			for run := range r.Runs() {
				f(run)
			}
			_ = r.Close() // it was only read
		}
	}
}

// Uninterrupted fails the stage if there was an interruption of more than limit so far.
func (s *Stage) Uninterrupted(limit time.Duration) {
	s.Helper()
	if d := s.Interruption(); d > limit {
		s.Errorf("no ID was issued for %v; at most %v is allowed", d.Round(time.Millisecond), limit)
	}
}

// longestGap returns the longest time that no run covers, from the first run to end, less what is excused of
// it. A run whose IDs came at two moments covers what is between them: they are IDs of one tick.
func longestGap(runs, excused []span, end int64) time.Duration {
	if len(runs) == 0 {
		return 0
	}
	slices.SortFunc(runs, func(a, b span) int { return int(max(-1, min(1, a.from-b.from))) })
	longest, covered := int64(0), runs[0].to
	for _, r := range append(runs, span{end, end}) {
		if r.from > covered {
			longest = max(longest, r.from-covered-overlap(span{covered, r.from}, excused))
		}
		covered = max(covered, r.to)
	}
	return time.Duration(longest)
}

// overlap returns how much of gap is covered by spans, which may overlap each other.
func overlap(gap span, spans []span) (sum int64) {
	sorted := slices.Clone(spans)
	slices.SortFunc(sorted, func(a, b span) int { return int(max(-1, min(1, a.from-b.from))) })
	at := gap.from
	for _, s := range sorted {
		from, to := max(s.from, at), min(s.to, gap.to)
		if to > from {
			sum += to - from
			at = to
		}
	}
	return sum
}
