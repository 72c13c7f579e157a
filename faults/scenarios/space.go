package scenarios

import (
	"time"

	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
)

var space = []stage.Scenario{{
	Number: 34, Name: "no-space", About: "the servers refuse writes, for lack of disk or memory, until the windows have ended: an error, and IDs at most 2 s after there is space",
	Backends: []string{"etcd", "etcd3", "redis", "sentinel", "cluster"},
	MinIDs:   20_000, Recovery: resumeTime, Budget: time.Minute,
	Short: &stage.Short{MinIDs: 20_000, Budget: time.Minute},
	Run:   runNoSpace,
}}

// runNoSpace has the servers run out of space.
func runNoSpace(s *stage.Stage) {
	b := s.Backend.(backend.Filler)
	workers := holders(s, "one", "two")
	began := journal.Now()
	b.Fill(s)
	windowEnds(s, began, journal.Now(), workers...)
	stood := quiet(s, quietTime, workers...)
	s.Excuse(stood, journal.Now())
	drained := journal.Now()
	b.Drain(s)
	s.Excuse(drained, journal.Now())
	back(s, drained, workers...)
	s.Uninterrupted(resumeTime)
}
