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
		found := false
		eachRun(s, w, func(run journal.Run) {
			if run.To > from && run.From < to && !found {
				found = true
				s.Errorf("process %d has issued IDs %v after a moment since which it had no window, and %v before it may have one again",
					w.PID(), time.Duration(run.From-from), time.Duration(to-run.From))
			}
		})
	}
}

// eachRun calls do for each run in the journals of a worker, of each journal in their order.
func eachRun(s *stage.Stage, w *worker.Worker, do func(journal.Run)) {
	for _, path := range w.Journals() {
		r, err := journal.Open(path)
		if err != nil {
			s.Fatal(err)
		}
		for run := range r.Runs() {
			do(run)
		}
		_ = r.Close() // it was only read
	}
}

// resumed waits until each worker issues IDs again after a quarantine, and goes on. What caused that has happened
// between two moments, began and ended. Windows that were open then have ended by [windowTime] after, and no ID may be
// issued from then on until the quarantine has taken its time.
func resumed(s *stage.Stage, began, ended int64, quarantine time.Duration, workers ...*worker.Worker) {
	stood, over := ended+int64(windowTime), began+int64(quarantine)
	for _, w := range workers {
		for w.Last() <= stood {
			s.Sleep(5 * time.Millisecond)
		}
		first := firstAfter(s, w, stood)
		s.RecoveredIn(time.Duration(first - ended))
	}
	silent(s, stood, over, workers...)
	for _, w := range workers {
		s.AwaitIssued(w, w.Issued()+issuedEach)
	}
}

// firstAfter returns when a worker has written down its first IDs after a moment, see journal.Now.
func firstAfter(s *stage.Stage, w *worker.Worker, since int64) int64 {
	first := journal.Now()
	eachRun(s, w, func(run journal.Run) {
		if run.From > since {
			first = min(first, run.From)
		}
	})
	return first
}
