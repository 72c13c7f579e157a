package scenarios

import (
	"time"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

var clocks = []stage.Scenario{{
	Number: 19, Name: "clock-steps", About: "the holder's clock steps by 10 s, by -10 s and by -H-5 s: IDs on another worker ID, or when the clock has caught up if no other can be had",
	Backends: []string{"etcd", "redis", "static", "file", "zk", "postgres", "mariadb", "kubernetes"},
	MinIDs:   4 * issuedEach, Recovery: stepTime, Budget: 2 * time.Minute, Short: &stage.Short{MinIDs: 4 * issuedEach, Budget: 2 * time.Minute, Backends: []string{"etcd", "redis", "static", "file", "zk"}},
	Run: runClockSteps,
}, {
	Number: 33, Name: "last-tick", About: "the clock reaches the last tick of the layout: a clear error and no ID after it",
	Backends: []string{"etcd", "redis", "static", "file", "zk", "postgres", "mariadb", "kubernetes"},
	MinIDs:   issuedEach, Budget: time.Minute, Short: &stage.Short{MinIDs: issuedEach, Budget: time.Minute, Backends: []string{"etcd", "redis", "static", "file", "zk"}},
	Run: runLastTick,
}}

// stepTime is how long a generator may take to issue IDs again after its clock has stepped, where another worker
// ID can be had.
const stepTime = 2*time.Second + busyTime

// settleTime is how long what was issued before a moment may take until it is written down, by a process that waits
// for a processor.
const settleTime = quietTime / 2

// runClockSteps steps the clock of a holder.
func runClockSteps(s *stage.Stage) {
	steps := []time.Duration{10 * time.Second, -10 * time.Second, -stage.Horizon - 5*time.Second}
	// A static generator has one worker ID, and servers that have a clock give no other one to a generator whose
	// clock is that far from theirs: it waits until its clock has caught up.
	if s.Backend.Name() != "etcd" {
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

// lastTicks is how long before the end of its layout the generator of runLastTick starts.
const lastTicks = 5 * time.Second

// runLastTick starts a generator a few seconds before the end of its layout: of the default one, as its clock says,
// or, where a server would object to that clock, of a layout that ends now.
func runLastTick(s *stage.Stage) {
	g := s.Generator("last", "namespace=last") // of another layout than the others
	switch s.Backend.Name() {
	case "etcd", "static":
		s.Clock().Set(time.Until(core.DefaultLayout().Expires().Add(-lastTicks)))
	default:
		l := core.Layout{Unit: time.Millisecond, TimeBits: 24, WorkerBits: 10, SequenceBits: 12}
		l.Epoch = time.Now().Add(lastTicks - l.Unit<<l.TimeBits).UTC().Truncate(time.Millisecond)
		g.Layout = l.String()
	}
	s.Init(g.URL, g.Layout)
	w := s.Worker("last", g)
	s.AwaitIssued(w, issuedEach)
	e := s.AwaitEvent(w, worker.Failed, worker.TimeExhausted)
	s.Logf("refused: %s", e.Text)
	quiet(s, quietTime, w)
	s.Excuse(e.At, journal.Now())
}
