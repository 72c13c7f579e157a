package scenarios

import (
	"slices"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/history"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

// contested are scenarios in which two processes that are alive want the same ticks of the same worker ID. Each of
// them is there for one rule of the protocol: without that rule both get them.
var contested = []stage.Scenario{{
	Number: 41, Name: "contested-window", About: "a holder is cut off, and another one takes its worker ID when the lease has ended, long before the window has: it begins where that ends",
	Backends: []string{"etcd", "redis", "zk", "postgres", "mariadb", "kubernetes"},
	MinIDs:   3 * issuedEach, Recovery: takeOverTime, Budget: time.Minute,
	Short: &stage.Short{MinIDs: 3 * issuedEach, Budget: time.Minute, Backends: []string{"etcd", "redis", "zk"}},
	Run:   func(s *stage.Stage) { runContested(s, false) },
}, {
	Number: 42, Name: "contested-above-a-floor", About: "the same after a quarantine that ends inside the window of the holder: the next one begins where the window ends, and not at the floor",
	Backends: []string{"etcd", "redis", "zk", "postgres", "mariadb", "kubernetes"},
	MinIDs:   3 * issuedEach, Recovery: takeOverTime, Budget: time.Minute,
	Run: func(s *stage.Stage) { runContested(s, true) },
}, {
	Number: 43, Name: "restored-and-quarantined", About: "a former holder finds itself in restored data, and the last one is cut off; the operator has raised the floor as the runbook says: no ID below it",
	Backends: []string{"etcd", "postgres", "mariadb", "kubernetes"},
	MinIDs:   3 * issuedEach, Recovery: takeOverTime + stage.RenewalTime, Budget: time.Minute,
	Rules: []history.Rule{history.StateLost},
	Run:   runRestoredAndQuarantined,
}, {
	Number: 44, Name: "two-horizons", About: "a holder with a long horizon is cut off, all worker IDs are forgotten, and one with a short horizon takes its worker ID: it begins when the longest horizon is over",
	Backends: []string{"redis", "postgres", "mariadb", "kubernetes"},
	MinIDs:   3 * issuedEach, Recovery: quarantineTime, Budget: 4 * time.Minute,
	Rules: []history.Rule{history.StateLost},
	Run:   runTwoHorizons,
}, {
	Number: 45, Name: "closed-under-load", About: "SIGTERM of the holder of the only worker ID, while eight goroutines issue at full speed and another process waits for it: no ID after what was given back",
	Backends: []string{"etcd", "redis", "postgres", "mariadb", "kubernetes"},
	MinIDs:   1_000_000, Recovery: handoverTime + busyTime, Budget: time.Minute, Alone: true,
	Run: runClosedUnderLoad,
}}

// raiseFloor raises the floor of the namespace to a time from now.
func raiseFloor(s *stage.Stage, d time.Duration) {
	c, err := coord.Open(s.Context(), s.Backend.URL(), coord.OpenOptions{})
	if err != nil {
		s.Fatal(err)
	}
	defer c.Close() // its work is done
	admin, can := c.(coord.Admin)
	if !can {
		s.Fatalf("%s cannot raise the floor", s.Backend.Name())
	}
	floor, err := admin.Quarantine(s.Context(), time.Now().Add(d))
	if err != nil {
		s.Fatal(err)
	}
	s.Logf("the floor was raised, to %v from now", time.Until(floor).Round(time.Millisecond))
}

// runContested cuts a holder off, whose window lasts longer than its lease.
func runContested(s *stage.Stage, floor bool) {
	g, way := apart(s, "first")
	first := s.Worker("first", g)
	had := held(s, first)
	s.AwaitIssued(first, issuedEach)
	if floor {
		raiseFloor(s, time.Second)
	}
	renewed(s, time.Now(), first)
	began := journal.Now()
	way.LoseAll()
	cut := journal.Now()
	second := s.Worker("second", wants(s, "second", had))
	windowEnds(s, began, cut, first)
	s.Recovered(cut, second)
	s.AwaitIssued(second, 2*issuedEach)
	startedWell(s, second)
	first.Kill() // it could not give anything back
}

// runRestoredAndQuarantined restores what was stored when the first holder had the worker ID, while the second one
// issues IDs in a window that is forgotten then.
func runRestoredAndQuarantined(s *stage.Stage) {
	g, _ := apart(s, "first")
	first := s.Worker("first", g)
	had := held(s, first)
	s.AwaitIssued(first, issuedEach)
	first.Freeze(s)
	snapshot := s.Backend.Snapshot(s)
	_, way := apart(s, "")
	g = wants(s, "second", had)
	g.URL = elsewhere(s, g.URL, way.Addrs()...)
	second := s.Worker("second", g)
	s.AwaitIssued(second, issuedEach)
	renewed(s, time.Now(), second)
	way.LoseAll()
	s.Backend.Restore(s, snapshot)
	raiseFloor(s, stage.Horizon+stage.SkewBound)
	thawed, issued := journal.Now(), second.Issued()
	first.Thaw(s)
	s.Recovered(thawed, first)
	s.AwaitIssued(first, first.Issued()+issuedEach)
	if second.Issued() == issued {
		s.Errorf("the second holder has issued nothing since the first one goes on; so nothing could go wrong")
	}
	second.Kill() // it knows that its window was forgotten, and would have all wait for that
}

const (
	// longHorizon is that of a holder whose window is forgotten, and shortHorizon that of who comes after it.
	longHorizon  = 20 * time.Second
	shortHorizon = 4 * time.Second
)

// runTwoHorizons has the server forget the window of a holder who does not learn of it.
func runTwoHorizons(s *stage.Stage) {
	_, way := apart(s, "")
	g := s.Generator("long", "horizon="+longHorizon.String())
	g.URL, g.Horizon = elsewhere(s, g.URL, way.Addrs()...), longHorizon
	first := s.Worker("long", g)
	had := held(s, first)
	s.AwaitIssued(first, issuedEach)
	renewed(s, time.Now(), first)
	way.LoseAll()
	_, s.Scenario.Recovery = forgotten(s)
	switch b := s.Backend.(type) {
	case backend.Tables:
		truncate(s, b)
	case backend.Objects:
		b.Delete(s, slices.DeleteFunc(b.All(s), func(name string) bool { return name == b.Object(-1) })...)
	case backend.Flusher:
		b.Flush(s)
	}
	flushed := journal.Now()
	g = s.Generator("short", "horizon="+shortHorizon.String())
	g.First, g.Count, g.Horizon = had, 1, shortHorizon
	second := s.Worker("short", g)
	s.AwaitEventSince(first, flushed, worker.Change, worker.WindowEnded)
	s.Recovered(flushed, second)
	s.AwaitIssued(second, 2*issuedEach)
	startedWell(s, second)
	first.Kill() // it could not give anything back
}

// runClosedUnderLoad ends holders that issue as much as they can.
func runClosedUnderLoad(s *stage.Stage) {
	g := only(s, "holder")
	g.PerSecond, g.Goroutines, g.UntilClosed = 0, 8, true
	s.Init(g.URL, "")
	w := s.Worker("holder", g)
	for range 5 {
		s.AwaitIssued(w, s.Scenario.MinIDs/5)
		next := s.Worker("holder", g)
		s.AwaitEvent(next, worker.Failed, worker.NoWorkerID)
		ended := journal.Now()
		w.Terminate(s)
		if e := s.AwaitEvent(w, worker.Closed, ""); e.Text != "" {
			s.Errorf("the holder could not give its worker ID back: %s", e.Text)
		}
		s.Recovered(ended, next)
		w = next
	}
	s.AwaitIssued(w, s.Scenario.MinIDs/5)
}
