package scenarios

import (
	"time"

	"github.com/unalike-id/unalike/faults/history"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

var oldCopies = []stage.Scenario{{
	Number: 25, Name: "old-copy", About: "a copy of the data that is older than a TTL comes back under six generators, two of which start anew within two seconds: they wait until the others have noticed, and nobody else has to know",
	Backends: []string{"etcd", "etcd3", "zk", "zk3"},
	MinIDs:   10_000, Recovery: lossTime, Budget: 5 * time.Minute,
	Short: &stage.Short{MinIDs: 5_000, Budget: time.Minute, Backends: []string{"etcd", "zk"}},
	Rules: []history.Rule{history.StateLost},
	Run:   runOldCopy,
}}

// runOldCopy puts back what was stored before four of six generators had started.
func runOldCopy(s *stage.Stage) {
	workers := holders(s, "one", "two")
	snapshot := s.Backend.Snapshot(s)
	for _, name := range []string{"three", "four", "five", "six"} {
		w := s.Worker(name, s.Generator(name))
		s.AwaitIssued(w, issuedEach)
		workers = append(workers, w)
	}
	s.Sleep(s.TTL() + 2*stage.SkewBound)

	began := journal.Now()
	s.Backend.Restore(s, snapshot)
	served := journal.Now()
	anew := []string{"five again", "six again"}
	for i, w := range workers[4:] {
		w.Kill()
		s.Sleep(time.Second / 2)
		workers[4+i] = s.Worker(anew[i], s.Generator(anew[i]))
	}
	s.Excuse(began, served+int64(lossTime))
	raised(s, time.Now().Add(longForgotten-windowTime))
	notBefore(s, served, workers[4:]...)
	if s.Short {
		return
	}
	resumed(s, began, served, longForgotten, workers...)
	s.Uninterrupted(silence)
}

// notBefore checks that workers which have begun after a loss issue nothing while windows can be
// in use that were forgotten.
func notBefore(s *stage.Stage, since int64, workers ...*worker.Worker) {
	quiet(s, quietTime, workers...)
	for _, w := range workers {
		if n := w.Issued(); n > 0 {
			s.Errorf("process %d has begun %v after a loss, and has issued %d IDs", w.PID(), time.Duration(journal.Now()-since), n)
		}
	}
}
