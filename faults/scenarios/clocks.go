package scenarios

import (
	"time"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

var clocks = []stage.Scenario{{
	Number: 19, Name: "clock-steps", About: "the holder's clock steps by 10 s, by -10 s and by -H-5 s: IDs on another worker ID, or when the clock has caught up where there is one",
	Backends: []string{"etcd", "static"},
	MinIDs:   4 * issuedEach, Recovery: stepTime, Budget: 2 * time.Minute, Short: &stage.Short{MinIDs: 4 * issuedEach, Budget: 2 * time.Minute},
	Run: runClockSteps,
}, {
	Number: 33, Name: "last-tick", About: "the clock reaches the last tick of 41 bits: a clear error and no ID after it",
	Backends: []string{"etcd", "static"},
	MinIDs:   issuedEach, Budget: time.Minute, Short: &stage.Short{MinIDs: issuedEach, Budget: time.Minute},
	Run: runLastTick,
}}

// stepTime is how long a generator may take to issue IDs again after its clock has stepped, where another worker
// ID can be had.
const stepTime = 2 * time.Second

// settleTime is how long what was issued before a step may take until it is written down.
const settleTime = 50 * time.Millisecond

// runClockSteps steps the clock of a holder.
func runClockSteps(s *stage.Stage) {
	steps := []time.Duration{10 * time.Second, -10 * time.Second, -stage.Horizon - 5*time.Second}
	if s.Backend.Name() == "static" { // it has one worker ID, so it waits for the clock
		s.Scenario.Recovery = stage.Horizon + 5*time.Second + stepTime
	}
	clock := s.Clock()
	g := s.Generator("stepped")
	s.Init(g.URL, "")
	w := s.Worker("stepped", g)
	for _, step := range steps {
		s.AwaitIssued(w, w.Issued()+issuedEach)
		clock.Set(clock.Offset() + step)
		s.Logf("the clock stepped by %v", step)
		s.Sleep(settleTime)
		s.Recovered(journal.Now(), w)
	}
	s.AwaitIssued(w, w.Issued()+issuedEach)
}

// runLastTick starts a generator a few seconds before the end of its layout.
func runLastTick(s *stage.Stage) {
	clock := s.Clock()
	end := core.DefaultLayout().Expires()
	clock.Set(time.Until(end.Add(-5 * time.Second)))
	g := s.Generator("last")
	s.Init(g.URL, "")
	w := s.Worker("last", g)
	s.AwaitIssued(w, issuedEach)
	e := s.AwaitEvent(w, worker.Failed, worker.TimeExhausted)
	issued := w.Issued()
	s.Sleep(time.Second)
	if now := w.Issued(); now != issued {
		s.Errorf("%d IDs were issued after %q", now-issued, e.Text)
	}
}
