package scenarios

import (
	"time"

	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

var planted = []stage.Scenario{{
	Number: 36, Name: "planted-duplicates", About: "a process issues the IDs of another one once more: the suite itself is broken if nobody notices",
	Backends: []string{"static"},
	MinIDs:   2 * issuedEach, Budget: time.Minute, Short: &stage.Short{MinIDs: 2 * issuedEach, Budget: time.Minute},
	ExpectDuplicates: true,
	Run:              runPlanted,
}}

// runPlanted issues IDs twice.
func runPlanted(s *stage.Stage) {
	g := s.Generator("source")
	g.Goroutines = 1
	s.Init(g.URL, "")
	w := s.Worker("source", g)
	s.AwaitIssued(w, issuedEach)
	w.Kill()
	again := s.Worker("again", worker.Generator{Name: "again", Replay: w.Journals()[0]})
	s.AwaitEvent(again, worker.Ready, "")
}
