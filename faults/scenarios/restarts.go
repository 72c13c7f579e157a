package scenarios

import (
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/local"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

var restarts = []stage.Scenario{{
	Number: 50, Name: "state-kill-loop-away", About: "a holder with a state file is killed and started again and again while the servers are away, for an hour where they allow that: each goes on with the same worker ID, above the mark",
	Backends: []string{"etcd", "redis", "zk", "postgres", "mariadb", "kubernetes"},
	MinIDs:   20_000, Recovery: loopTime, Budget: 15 * time.Minute,
	Short: &stage.Short{MinIDs: 2_000, Budget: 2 * time.Minute, Backends: []string{"etcd"}},
	Run:   runKillLoopAway,
}, {
	Number: 50, Name: "state-kill-loop", About: "the same while the servers answer: one worker ID in all",
	Backends: []string{"etcd", "redis", "zk", "postgres", "mariadb", "kubernetes"},
	MinIDs:   20_000, Recovery: loopTime, Budget: 15 * time.Minute,
	Short: &stage.Short{MinIDs: 2_000, Budget: 2 * time.Minute, Backends: []string{"etcd"}},
	Run:   runKillLoopHere,
}, {
	Number: 50, Name: "state-killed-at-start", About: "processes are killed as soon as they have written the state file, one after the other: the next one serves as soon as after one of them",
	Backends: []string{"etcd", "redis", "zk", "postgres", "mariadb"},
	MinIDs:   2 * issuedEach, Recovery: goOnTime, Budget: 2 * time.Minute,
	Run: runKilledAtStart,
}, {
	Number: 50, Name: "state-outage", About: "an outage of three TTLs with a kill -9 and a SIGTERM in it: who is not restarted notices nothing, and who is goes on with the same worker ID",
	Backends: []string{"etcd", "etcd3", "redis", "cluster", "zk", "zk3", "postgres", "postgres-standby", "mariadb", "mariadb-replica", "kubernetes"},
	MinIDs:   10 * issuedEach, Recovery: goOnTime, Budget: 3 * time.Minute,
	Run: runOutageWithRestarts,
}}

const (
	// loopWindow is how far the mark reaches in the loops, so that they have many rounds in a short time.
	loopWindow = 600 * time.Millisecond
	// loopTime is goOnTime with such a mark, beside which the back end is asked in vain for longer.
	loopTime = local.Patience + handoverTime + busyTime
	// loopIDs are issued in each round.
	loopIDs = 100
)

// runKillLoopAway kills holders while the servers are away: all the time where a namespace can be declared for an hour,
// elsewhere for as long as a window lasts, after which the servers come back for a renewal.
func runKillLoopAway(s *stage.Stage) {
	g := lasting(s, "holder")
	g.Window = loopWindow
	w := kept(s, "holder", g)
	had := held(s, w)
	rounds := 0
	for all := s.Rounds(200, 10); rounds < all; {
		renewedWithin(s, time.Now(), 2*resumeTime, w)
		written(s, g)
		gone(s)
		for away := time.Now(); rounds < all && time.Since(away) < g.Horizon-startLimit; rounds++ {
			w = killedInLoop(s, w, g, had)
		}
		returned(s)
		served := journal.Now()
		s.Recovered(served, w)
	}
	renewedWithin(s, time.Now(), 2*resumeTime, w)
	s.AwaitIssued(w, w.Issued()+issuedEach)
	keeps(s, w, had, 0)
}

// killedInLoop kills a worker and starts the next one, which has to go on with the same worker ID.
func killedInLoop(s *stage.Stage, w *worker.Worker, g worker.Generator, had int) *worker.Worker {
	w.Kill()
	killed := journal.Now()
	w = s.Worker("holder", g)
	s.Recovered(killed, w)
	s.AwaitIssued(w, loopIDs)
	keeps(s, w, had, 0)
	return w
}

// runKillLoopHere kills holders while the servers answer.
func runKillLoopHere(s *stage.Stage) {
	g := lasting(s, "holder")
	g.Window = loopWindow
	w := kept(s, "holder", g)
	had := held(s, w)
	for range s.Rounds(200, 10) {
		w = killedInLoop(s, w, g, had)
	}
	s.AwaitIssued(w, w.Issued()+issuedEach)
	if all := slots(s, busyTime, func(all []coord.Slot) bool { return len(all) == 1 }); len(all) != 1 || all[0].WorkerID != had {
		s.Errorf("worker IDs %v are held; want %d alone", all, had)
	}
}

// runKilledAtStart kills processes before they have issued any ID, while the servers are away and while they answer.
func runKilledAtStart(s *stage.Stage) {
	g := withState(s, s.Generator("holder"), keptHorizon)
	s.Init(g.URL, "")
	w := kept(s, "holder", g)
	had := held(s, w)
	for _, away := range []bool{true, false} {
		if away {
			gone(s)
		}
		killed := journal.Now()
		w.Kill()
		for range 6 {
			before := contents(s, g.State)
			w = s.Worker("holder", g)
			for contents(s, g.State) == before {
				s.Sleep(5 * time.Millisecond)
			}
			killed = journal.Now()
			w.Kill()
		}
		w = s.Worker("holder", g)
		s.Recovered(killed, w)
		s.AwaitIssued(w, issuedEach)
		keeps(s, w, had, 0)
		if away {
			returned(s)
			renewedWithin(s, time.Now(), 2*resumeTime, w)
			written(s, g)
		}
	}
}

// runOutageWithRestarts takes the servers away for three TTLs, and restarts one of two processes twice.
func runOutageWithRestarts(s *stage.Stage) {
	one, two := withState(s, s.Generator("one"), longestHorizon(s)), withState(s, s.Generator("two"), longestHorizon(s))
	s.Init(one.URL, "")
	steady, moved := kept(s, "one", one), kept(s, "two", two)
	had := held(s, moved)
	began := time.Now()
	gone(s)
	s.Sleep(s.TTL())
	moved.Kill()
	killed := journal.Now()
	moved = s.Worker("two", two)
	s.Recovered(killed, moved)
	s.AwaitIssued(moved, issuedEach)
	keeps(s, moved, had, 0)
	moved.Terminate(s)
	if e := s.AwaitEvent(moved, worker.Closed, ""); e.Text != "" {
		s.Errorf("a process that ends in an outage keeps its worker ID in the state file; it told of %s", e.Text)
	}
	ended := journal.Now()
	moved = s.Worker("two", two)
	if took, most := s.Recovered(ended, moved), local.Patience+handoverTime+busyTime; took > most {
		s.Errorf("a process that goes on with what was kept took %v; at most %v is allowed", took, most)
	}
	s.Sleep(time.Until(began.Add(3 * s.TTL())))
	returned(s)
	served := time.Now()
	s.Logf("the servers were away for %v", time.Since(began).Round(time.Millisecond))
	for _, w := range []*worker.Worker{steady, moved} {
		renewedWithin(s, served, 2*resumeTime, w)
		s.AwaitIssued(w, w.Issued()+issuedEach)
	}
	keeps(s, moved, had, 0)
	healthy(s, steady)
	startedWell(s, moved)
	s.Uninterrupted(silence)
}
