package scenarios

import (
	"time"

	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

var endings = []stage.Scenario{{
	Number: 2, Name: "kill-loop", About: "kill -9 of the holder of the only worker ID, again and again: the next one takes over when its window has ended",
	Backends: []string{"etcd", "redis", "static", "file", "zk", "postgres", "mariadb", "kubernetes"},
	MinIDs:   20 * issuedEach, Recovery: takeOverTime, Budget: 5 * time.Minute,
	Short: &stage.Short{MinIDs: 3 * issuedEach, Budget: time.Minute, Backends: []string{"etcd", "redis", "static", "file", "zk", "postgres", "mariadb"}},
	Run:   runKillLoop,
}, {
	Number: 3, Name: "handover", About: "SIGTERM of the holder of the only worker ID, again and again: the next one waits no longer than a tick",
	Backends: []string{"etcd", "redis", "static", "file", "zk", "postgres", "mariadb", "kubernetes"},
	MinIDs:   20 * issuedEach, Recovery: handoverTime + busyTime, Budget: 2 * time.Minute,
	Short: &stage.Short{MinIDs: 4 * issuedEach, Budget: time.Minute, Backends: []string{"etcd", "redis", "static", "file", "zk"}},
	Run:   runHandover,
}}

// handoverTime is how long a new process may take to its first ID after the one before it has ended. The window
// opens at the next tick; the rest is the start of a process, the connection and the acquisition.
const handoverTime = 2 * time.Second

// issuedEach is how many IDs each holder issues before something happens to it.
const issuedEach = 1000

// only returns a generator for the only worker ID of the namespace.
func only(s *stage.Stage, name string) worker.Generator {
	g := s.Generator(name)
	g.Count = 1
	return g
}

// runKillLoop kills holders.
func runKillLoop(s *stage.Stage) {
	g := only(s, "holder")
	s.Init(g.URL, "")
	w := s.Worker("holder", g)
	for range s.Rounds(20, 2) {
		s.AwaitIssued(w, issuedEach)
		w.Kill()
		killed := journal.Now()
		w = s.Worker("holder", g)
		s.Recovered(killed, w)
	}
	s.AwaitIssued(w, issuedEach)
}

// runHandover ends holders in good order.
func runHandover(s *stage.Stage) {
	g := only(s, "holder")
	s.Init(g.URL, "")
	w := s.Worker("holder", g)
	for range s.Rounds(20, 3) {
		s.AwaitIssued(w, issuedEach)
		w.Terminate(s)
		ended := journal.Now()
		if e := s.AwaitEvent(w, worker.Closed, ""); e.Text != "" {
			s.Errorf("the holder could not give its worker ID back: %s", e.Text)
		}
		w = s.Worker("holder", g)
		s.Recovered(ended, w)
	}
	s.AwaitIssued(w, issuedEach)
	healthy(s, w)
}
