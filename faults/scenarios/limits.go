package scenarios

import (
	"time"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

var limits = []stage.Scenario{{
	Number: 31, Name: "layout-mismatch", About: "generators with another epoch and with other widths in a namespace: refused, and no ID",
	Backends: []string{"etcd", "redis", "static", "zk", "postgres", "mariadb", "kubernetes"},
	MinIDs:   2 * issuedEach, Recovery: handoverTime + busyTime, Budget: time.Minute, Short: &stage.Short{MinIDs: 2 * issuedEach, Budget: time.Minute, Backends: []string{"etcd", "redis", "static", "zk"}},
	Run: runLayoutMismatch,
}, {
	Number: 32, Name: "saturated-to-the-end", About: "full speed with a lead while no renewal gets through: IDs to the end of the window and none beyond, then an error",
	Backends: []string{"etcd", "redis", "zk", "postgres", "mariadb", "kubernetes"},
	MinIDs:   1_000_000, Recovery: thawTime, Budget: time.Minute, Alone: true, Short: &stage.Short{MinIDs: 1_000_000, Budget: time.Minute, Backends: []string{"etcd", "redis", "zk"}},
	Run: runSaturated,
}}

// runLayoutMismatch starts generators with layouts that are not the namespace's.
func runLayoutMismatch(s *stage.Stage) {
	g := s.Generator("right")
	s.Init(g.URL, "")
	w := s.Worker("right", g)
	s.AwaitIssued(w, issuedEach)
	static := s.Backend.Name() == "static"
	if static { // it has one worker ID, whose file says which layout it is
		w.Terminate(s)
	}
	for _, layout := range []string{"41/10/12/1ms/2023-01-01T00:00:00Z", "41/8/14/1ms/2024-01-01T00:00:00Z"} {
		wrong := s.Generator("wrong")
		wrong.Layout = layout
		refused := s.Worker("wrong", wrong)
		e := s.AwaitEvent(refused, worker.Failed, worker.LayoutMismatch)
		s.Logf("refused: %s", e.Text)
		refused.Terminate(s)
		if n := refused.Issued(); n > 0 {
			s.Errorf("a generator with layout %s has issued %d IDs", layout, n)
		}
	}
	if static {
		ended := journal.Now()
		w = s.Worker("right", g)
		s.Recovered(ended, w)
	}
	s.AwaitIssued(w, w.Issued()+issuedEach)
}

// runSaturated freezes the coordinator under a generator at full speed.
func runSaturated(s *stage.Stage) {
	g := s.Generator("fast")
	g.PerSecond, g.Lead = 0, time.Second
	s.Init(g.URL, "")
	w := s.Worker("fast", g)
	s.AwaitIssued(w, issuedEach)
	s.Backend.Freeze(s)
	frozen, limit := journal.Now(), time.Now().Add(stage.Horizon)
	e := s.AwaitEventSince(w, frozen, worker.Change, worker.WindowEnded)
	ended := time.Duration(e.At - frozen)
	s.Logf("%v after the coordinator was frozen: %s", ended.Round(time.Millisecond), e.Text)
	if low, high := stage.Horizon-g.Lead-stage.RenewalTime-stage.SkewBound-busyTime, stage.Horizon+stage.SkewBound+busyTime; ended < low || ended > high {
		s.Errorf("the window ended %v after the last renewal; want %v to %v", ended, low, high)
	}
	quiet(s, quietTime, w)
	if at := core.DefaultLayout().Decompose(s.Largest(w)).Time; at.After(limit) {
		s.Errorf("an ID has the time %v; no window reaches beyond %v", at, limit)
	}
	thawed := journal.Now()
	s.Excuse(e.At, thawed)
	s.Backend.Thaw(s)
	s.Recovered(thawed, w)
}
