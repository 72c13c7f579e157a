package scenarios

import (
	"strings"
	"syscall"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/follow"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/history"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

var offline = []stage.Scenario{{
	Number: 52, Name: "state-late-release", About: "the request with which a process gives its worker ID back comes late, after the next process was started on its state file without the servers: no ID with what was given back",
	Backends: []string{"etcd", "redis", "postgres", "mariadb"}, // ZooKeeper does not carry out what is that late
	MinIDs:   3 * issuedEach, Recovery: copiedTime, Budget: 90 * time.Second,
	Short: &stage.Short{MinIDs: 3 * issuedEach, Budget: time.Minute, Backends: []string{"etcd"}},
	Run:   runLateRelease,
}, {
	Number: 52, Name: "state-clock-steps", About: "the clock of a process with a state file steps between its restarts, while the servers are away: it goes on when the clock has passed the mark",
	Backends: []string{"etcd", "redis", "zk", "postgres", "mariadb"},
	MinIDs:   4 * issuedEach, Recovery: 2*clockBy + goOnTime, Budget: 2 * time.Minute,
	Run: runStateClockSteps,
}, {
	Number: 52, Name: "state-operators", About: "operators retire the worker ID of a process that goes on without the servers, raise the floor, and move the namespace: it goes on inside its window, and nobody else in it",
	Backends: []string{"etcd", "redis", "zk", "postgres", "mariadb"},
	MinIDs:   6 * issuedEach, Recovery: keptHorizon + goOnTime, Budget: 3 * time.Minute,
	Rules: []history.Rule{history.LeasesLost}, // the worker ID is retired by somebody who is not recorded
	Run:   runStateOperators,
}, {
	Number: 52, Name: "state-downgrade", About: "an older version, which has no state file, takes the worker ID of one that has, and is replaced by one that has again: above what was granted, and not with what the file says",
	Backends: []string{"etcd", "redis", "zk", "postgres", "mariadb"},
	MinIDs:   4 * issuedEach, Recovery: takeOverTime, Budget: 2 * time.Minute,
	Run: runDowngrade,
}}

// clockBy is by how much clocks step between restarts.
const clockBy = 4 * time.Second

// contains fails the stage if a text does not say what it has to.
func contains(s *stage.Stage, text, want string) {
	if !strings.Contains(text, want) {
		s.Errorf("what is told is %q; it has to say %q", text, want)
	} else {
		s.Logf("told: %s", text)
	}
}

// lateBy is by how much the request is late: the next process is up meanwhile.
const lateBy = marked + stage.RenewalTime

// runLateRelease holds the request that gives a worker ID back, and delivers it when the next process runs.
func runLateRelease(s *stage.Stage) {
	g, way := keeping(s, keptHorizon)
	if s.Backend.Name() == "redis" {
		g.URL = elsewhere(s, s.Backend.URL(patientSkew), way.Addrs()...) // else it refuses what is late
	}
	g.TTL = keptHorizon - stage.TTL // its lease lasts until the request comes, and no renewal is sent so soon
	s.Init(g.URL, "")
	// A Redis that does not know the script refuses the first release, and its process is gone before it can send another.
	warmUp := s.Worker("warm-up", wants(s, "warm-up", 1))
	s.AwaitIssued(warmUp, issuedEach)
	warmUp.Terminate(s)
	w := kept(s, "holder", g)
	had := held(s, w)
	// What is delayed comes as it was sent, with what it says of itself: etcd refuses a call whose deadline passes between two parts of it.
	way.DelayRequests(lateBy)
	release := way.Copy(s.Backend.IsCall) // which is not delivered twice
	sent := time.Now()
	if err := syscall.Kill(w.PID(), syscall.SIGTERM); err != nil {
		s.Fatal(err)
	}
	caught(s, release)
	way.LoseAll()
	w.Kill()
	next := s.Worker("holder", g)
	s.Sleep(time.Until(sent.Add(lateBy + stage.RenewalTime)))
	delivered := journal.Now()
	other := wants(s, "other", had)
	if s.Backend.Name() == "redis" {
		other.URL = s.Backend.URL(patientSkew)
	}
	other.Horizon = keptHorizon
	third := s.Worker("other", other)
	s.Recovered(delivered, third)
	s.AwaitIssued(third, issuedEach)
	if n := next.Issued(); n > 0 {
		s.Errorf("%d IDs were issued with a worker ID that was given back", n)
	}
	healed := journal.Now()
	way.Heal()
	s.Recovered(healed, next)
	s.AwaitIssued(next, issuedEach)
}

// runStateClockSteps has the clock step while no process runs.
func runStateClockSteps(s *stage.Stage) {
	clock := s.Clock()
	g, way := keeping(s, keptHorizon)
	s.Init(g.URL, "")
	w := kept(s, "holder", g)
	had := held(s, w)
	renewedWithin(s, time.Now(), keptHorizon, w)
	way.LoseAll()
	for _, offset := range []time.Duration{clockBy, -clockBy, 0} {
		if offset == 0 {
			w.Terminate(s)
		} else {
			w.Kill()
		}
		ended := journal.Now()
		clock.Set(offset)
		s.Logf("the clock differs by %v", offset)
		w = s.Worker("holder", g)
		s.Recovered(ended, w)
		s.AwaitIssued(w, issuedEach)
		keeps(s, w, had, 0)
	}
	healed := time.Now()
	way.Heal()
	renewedWithin(s, healed, 2*resumeTime, w)
	s.AwaitIssued(w, w.Issued()+issuedEach)
	keeps(s, w, had, 0)
}

// runStateOperators does what operators can do while a process goes on without the servers.
func runStateOperators(s *stage.Stage) {
	g, way := keeping(s, keptHorizon)
	s.Init(g.URL, "")
	w := kept(s, "holder", g)
	had := held(s, w)
	a := admin(s)
	restart := func() {
		w.Kill()
		killed := journal.Now()
		w = s.Worker("holder", g)
		s.Recovered(killed, w)
		s.AwaitIssued(w, issuedEach)
	}

	way.LoseAll()
	if err := a.Retire(s.Context(), had); err != nil {
		s.Fatal(err)
	}
	restart()
	keeps(s, w, had, 0)
	healed := journal.Now()
	way.Heal()
	for e := s.AwaitEventSince(w, healed, worker.Change, ""); !e.Healthy || e.Workers[0] == had; {
		e = s.AwaitEventSince(w, e.At+1, worker.Change, "")
	}
	s.AwaitIssued(w, w.Issued()+issuedEach)
	usable(s, g)
	s.Sleep(marked) // the file names the new one alone

	way.LoseAll()
	if _, err := a.Quarantine(s.Context(), time.Now().Add(floorTime)); err != nil {
		s.Fatal(err)
	}
	restart()
	healedAt := time.Now()
	way.Heal()
	s.Sleep(floorTime)
	s.AwaitIssued(w, w.Issued()+issuedEach)
	s.Logf("the floor was passed %v after the way was healed", time.Since(healedAt))

	way.LoseAll()
	moveAway(s, restart)
}

// moveAway has another namespace follow, and a generator use it.
func moveAway(s *stage.Stage, restart func()) {
	next := s.Generator("next", "namespace=next")
	next.Horizon, next.Patience = keptHorizon, startLimit
	prev, after := opened(s, s.Backend.URL()), opened(s, next.URL)
	slots(s, 3*s.TTL(), func(all []coord.Slot) bool { return len(all) == 0 })
	began := journal.Now()
	floor, err := follow.Namespace(s.Context(), after, prev, core.DefaultLayout().Space())
	if err != nil {
		s.Fatal(err)
	}
	s.Logf("the next namespace grants from %v on", time.Until(floor).Round(time.Millisecond))
	restart()
	w := s.Worker("next", next)
	s.Elsewhere(w)
	s.Recovered(began, w)
	s.AwaitIssued(w, issuedEach)
}

// opened opens the coordinator of a URL until the stage ends.
func opened(s *stage.Stage, url string) coord.Coordinator {
	c, err := coord.Open(s.Context(), url, coord.OpenOptions{})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = c.Close() })
	return c
}

// runDowngrade replaces a process with a state file by one without, and that by one with it.
func runDowngrade(s *stage.Stage) {
	g, way := keeping(s, stage.Horizon)
	g.Count = 1
	s.Init(g.URL, "")
	old := g
	old.State = ""
	w := kept(s, "holder", g)
	for _, version := range []worker.Generator{old, g, old, g} {
		w.Kill()
		killed := journal.Now()
		w = s.Worker("holder", version)
		s.Recovered(killed, w)
		s.AwaitIssued(w, issuedEach)
	}
	usable(s, g)
	s.Sleep(marked)
	w.Kill()
	way.LoseAll()
	without := s.Worker("holder", old)
	issuesNone(s, time.Second, without)
	without.Kill()
	ended := journal.Now()
	w = s.Worker("holder", g)
	s.Recovered(ended, w)
	s.AwaitIssued(w, issuedEach)
	way.Heal()
	s.AwaitIssued(w, w.Issued()+issuedEach)
}
