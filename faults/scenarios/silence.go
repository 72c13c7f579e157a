package scenarios

import (
	"time"

	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

// silent fails the stage if workers have written down IDs between two moments, see journal.Now. It looks back, so
// that a machine that is slow to look changes nothing.
func silent(s *stage.Stage, from, to int64, workers ...*worker.Worker) {
	for _, w := range workers {
		for _, path := range w.Journals() {
			r, err := journal.Open(path)
			if err != nil {
				s.Fatal(err)
			}
			for run := range r.Runs() {
				if run.To > from && run.From < to {
					s.Errorf("process %d has issued IDs %v after a moment since which it had no window, and %v before it may have one again",
						w.PID(), time.Duration(run.From-from), time.Duration(to-run.From))
					break
				}
			}
			_ = r.Close() // it was only read
		}
	}
}
