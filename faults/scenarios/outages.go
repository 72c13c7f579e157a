package scenarios

import (
	"fmt"
	"slices"
	"time"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// outages are scenarios of what happens to servers and to the network.
var outages = []stage.Scenario{{
	Name: "short-faults",
	About: "all that can happen to the servers and the network, one after the other, each for " +
		"longer than a TTL and shorter than H-R: nobody notices, and a newcomer has IDs at most " +
		"5 s after another leader can be elected",
	Backends: with(single, "etcd3", "zk3", "cluster"), Short: []string{"etcd3"},
	Recovery: noticeTime + electionTime, Budget: 10 * time.Minute,
	Run: runShortFaults,
}, {
	Name: "long-faults",
	About: "the same to generators at full speed, until the windows have ended: an error, not " +
		"an ID beyond them, and IDs at most 2 s after",
	Backends: with(single, "etcd3", "zk3", "cluster"), Short: []string{"mariadb", "zk3"},
	Recovery: resumeTime, Exclusive: true, Budget: 10 * time.Minute,
	Run: runLongFaults,
}, {
	Name: "power-failure",
	About: "kill -9 of all holders and all servers at once, which are started again: IDs as " +
		"soon as the leases of the dead have ended, at Redis after a quarantine",
	Backends: with(single, "etcd3", "zk3", "sentinel", "cluster"), Short: []string{"etcd"},
	Recovery: powerTime,
	Run:      runPowerFailure,
}}

const (
	// patientHorizon bridges an outage and the restart of an ensemble of ZooKeeper, or of an API
	// server, on a busy machine.
	patientHorizon = 25 * time.Second
	// powerTime is how long holders that start together with the servers may take to their first
	// ID: their clocks are compared with those of dead holders until the leases have ended, which
	// takes one TTL and 5 s at the most.
	powerTime = stage.TTLKeeper + 5*time.Second + busyTime
)

// runShortFaults has everything happen for a while.
func runShortFaults(s *stage.Stage) {
	var workers []*worker.Worker
	for _, name := range []string{"one", "two"} {
		g := s.Generator(name)
		g.Horizon = patientHorizon
		workers = append(workers, s.Worker(name, g))
	}
	s.AwaitMore(issuedEach, workers...)
	for _, f := range append(servers(s, false, workers...), network(s, s.Backend.Way)...) {
		s.Logf("%s", f.name)
		began := time.Now()
		f.begin()
		if f.until != nil {
			f.until()
		} else {
			s.Sleep(outage)
		}
		f.end()
		s.Logf("%s has ended after %v", f.name, time.Since(began))
		renewed(s, time.Now(), resumeTime+electionTime, workers...)
		s.AwaitMore(issuedEach, workers...)
		well(s, workers...)
		s.Uninterrupted(silence)
	}
	for _, w := range workers {
		keeps(s, w, held(s, w), 0)
	}
}

// runLongFaults has everything happen until the windows have ended.
func runLongFaults(s *stage.Stage) {
	fast := s.Generator("fast")
	fast.PerSecond = 0
	workers := []*worker.Worker{s.Worker("fast", fast), s.Worker("steady", s.Generator("steady"))}
	all := slices.DeleteFunc(append(network(s, s.Backend.Way), servers(s, false)...),
		func(f fault) bool { return f.mild })
	for i, f := range all {
		if s.Short && i != 0 && i != len(all)-1 {
			continue
		}
		s.AwaitMore(issuedEach, workers...)
		s.Logf("%s", f.name)
		began, from := journal.Now(), time.Now()
		f.begin()
		cut, limit := journal.Now(), time.Now().Add(stage.Horizon+stage.SkewBound)
		windowEnds(s, began, cut, workers...)
		stood := quiet(s, workers...)
		for run := range s.Runs(workers...) {
			if at := core.DefaultLayout().Decompose(run.Last()).Time; at.After(limit) {
				safetytest.Of(s).Fatalf("an ID has the time %v; no window reaches beyond %v, a horizon after "+
					"%v", at, limit, from)
			}
		}
		f.end()
		served := journal.Now()
		s.Excuse(stood, served)
		back(s, served, workers...)
	}
	s.Uninterrupted(resumeTime)
}

// runPowerFailure kills everything and starts it again.
func runPowerFailure(s *stage.Stage) {
	workers := holders(s, s.Backend, "one", "two", "three")
	for i := range s.Rounds(2, 1) {
		began := journal.Now()
		for _, w := range workers {
			w.Kill()
		}
		s.Backend.Kill()
		s.Backend.Restart()
		served := journal.Now()
		for n := range workers {
			name := fmt.Sprintf("again-%d-%d", i, n)
			workers[n] = s.Worker(name, s.Generator(name))
		}
		if slices.Contains(forgetful, s.Backend.Name) {
			resumed(s, began, served, workers...)
		} else {
			s.Excuse(began, served+int64(powerTime))
			back(s, served, workers...)
		}
	}
	s.Uninterrupted(silence)
}
