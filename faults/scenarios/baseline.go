package scenarios

import (
	"time"

	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

var baseline = []stage.Scenario{{
	Number: 1, Name: "baseline", About: "four generators at full speed, nothing happens: no error, no interruption",
	Backends: []string{"etcd", "redis", "static", "file", "zk", "postgres", "mariadb", "kubernetes"},
	MinIDs:   400_000_000, Budget: 20 * time.Minute, Alone: true,
	Short: &stage.Short{MinIDs: 10_000_000, Budget: time.Minute, Backends: []string{"etcd", "redis", "static", "file", "zk", "postgres", "mariadb"}},
	Run:   runBaseline,
}}

// runBaseline lets four generators in two processes issue IDs until there are enough of them.
func runBaseline(s *stage.Stage) {
	var workers []*worker.Worker
	for _, names := range [][]string{{"0", "1"}, {"2", "3"}} {
		var generators []worker.Generator
		for _, n := range names {
			g := s.Generator("g"+n, own(s, n)...)
			g.PerSecond = 0
			generators = append(generators, g)
			if len(workers) == 0 && n == "0" {
				s.Init(g.URL, "")
			}
		}
		workers = append(workers, s.Worker("pair", generators...))
	}
	for _, w := range workers {
		s.AwaitIssued(w, s.Scenario.MinIDs/2)
	}
	s.Uninterrupted(silence)
	healthy(s, workers...)
}

// own returns the options of a URL with which a generator can run beside others: a static one needs a worker ID
// of its own.
func own(s *stage.Stage, worker string) []string {
	if s.Backend.Name() == "static" {
		return []string{"worker=" + worker}
	}
	return nil
}

// healthy fails the stage if a worker has told of an error, or that it could not issue.
func healthy(s *stage.Stage, workers ...*worker.Worker) {
	for _, w := range workers {
		for _, e := range w.Events() {
			if e.Kind == worker.Failed || e.Kind == worker.Change && !e.Healthy {
				s.Errorf("process %d told of %s of generator %s: %s", w.PID(), e.Kind, e.Generator, e.Text)
			}
		}
	}
}
