package scenarios

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

var failovers = []stage.Scenario{{
	Number: 15, Name: "leader-crash", About: "kill -9 of the leader, again and again: holders do not notice, and a newcomer has IDs at most 5 s after",
	Backends: []string{"etcd3", "zk3"},
	MinIDs:   20_000, Recovery: failoverTime, Budget: 90 * time.Second,
	Short: &stage.Short{MinIDs: 8_000, Budget: time.Minute, Backends: []string{"etcd3", "zk3"}},
	Run:   func(s *stage.Stage) { runLeaderFaults(s, backend.Server.Kill, backend.Server.Restart) },
}, {
	Number: 15, Name: "leader-frozen", About: "SIGSTOP of the leader until another one is elected, again and again: as if it were killed, and nothing more when it goes on",
	Backends: []string{"etcd3", "zk3"},
	MinIDs:   20_000, Recovery: noticeTime + failoverTime, Budget: 90 * time.Second,
	Run: func(s *stage.Stage) {
		runLeaderFaults(s, func(l backend.Server) { l.Freeze(s) }, backend.Server.Thaw)
	},
}, {
	Number: 15, Name: "host-crash", About: "kill -9 of the program that runs the etcd for the others: they do not notice, and a newcomer has IDs at most 5 s after",
	Backends: []string{"embedded"},
	MinIDs:   20_000, Recovery: failoverTime, Budget: 90 * time.Second,
	Short: &stage.Short{MinIDs: 8_000, Budget: time.Minute},
	Run:   runHostKilled,
}, {
	Number: 15, Name: "redis-failover", About: "kill -9 of the primary: IDs to the end of the windows, and a quarantine of 30.5 s after the failover, no more and no less",
	Backends: []string{"sentinel"},
	MinIDs:   20_000, Recovery: quarantineTime, Budget: 90 * time.Second,
	Run: runRedisFailover,
}, {
	Number: 16, Name: "rolling-restart", About: "each server is ended and started again, one at a time: nobody notices",
	Backends: []string{"etcd", "etcd3", "embedded", "zk3", "postgres", "mariadb", "kubernetes"},
	MinIDs:   5_000, Budget: 2 * time.Minute,
	Short: &stage.Short{MinIDs: 5_000, Budget: time.Minute, Backends: []string{"etcd", "embedded"}},
	Run:   runRolling,
}, {
	Number: 16, Name: "redis-rolling-restart", About: "the same with Redis: a quarantine of 30.5 s after the last restart, no more and no less",
	Backends: []string{"redis", "sentinel", "cluster"},
	MinIDs:   10_000, Recovery: quarantineTime, Budget: 2 * time.Minute,
	Run: runRedisRolling,
}}

// failoverTime is how long a newcomer may take to its first ID after the leader is gone: others have to notice, to
// elect another one, and to grant.
const failoverTime = 5*time.Second + busyTime

// noticeTime is how long the followers of a leader that stands still wait before they elect another one: in an
// ensemble of ZooKeeper as the suite starts it, 4 s, and less in a cluster of etcd.
const noticeTime = 4 * time.Second

// runLeaderFaults does something to the leader, and undoes it when another one leads.
func runLeaderFaults(s *stage.Stage, do func(backend.Server), undo func(backend.Server, testing.TB)) {
	workers := holders(s, "one", "two")
	for i := range s.Rounds(3, 1) {
		leader := s.Backend.(backend.Elected).Leader(s)
		since := journal.Now()
		do(leader)
		name := fmt.Sprintf("newcomer-%d", i)
		newcomer := s.Worker(name, s.Generator(name))
		s.Recovered(since, newcomer)
		elected := time.Now()
		for _, w := range workers { // who may have been connected to the old leader
			renewedWithin(s, elected, failoverTime, w)
		}
		undo(leader, s)
		workers = append(workers, newcomer)
		for _, w := range workers {
			s.AwaitIssued(w, w.Issued()+issuedEach)
			startedWell(s, w)
		}
		s.Uninterrupted(silence)
	}
}

// runHostKilled kills whoever runs the etcd.
func runHostKilled(s *stage.Stage) {
	workers := map[int]*worker.Worker{}
	for _, w := range holders(s, "one", "two", "three") {
		workers[w.PID()] = w
	}
	b := s.Backend.(backend.Hosted)
	for i := range s.Rounds(3, 2) {
		since := journal.Now()
		if w, ok := workers[b.Host(s)]; ok {
			w.Kill()
			delete(workers, w.PID())
		} else if i == 0 {
			s.Backend.Kill(s)
		} else {
			s.Fatalf("process %d runs the etcd, which is none of the workers; this is %d", b.Host(s), os.Getpid())
		}
		name := fmt.Sprintf("newcomer-%d", i)
		newcomer := s.Worker(name, s.Generator(name))
		s.Recovered(since, newcomer)
		workers[newcomer.PID()] = newcomer
		for _, w := range workers {
			renewedWithin(s, time.Now(), resumeTime, w)
			startedWell(s, w)
		}
		s.Uninterrupted(silence)
	}
}

// runRedisFailover kills the primary.
func runRedisFailover(s *stage.Stage) {
	workers := holders(s, "one", "two")
	since := journal.Now()
	s.Backend.(backend.Replicated).Failover(s)
	promoted := journal.Now()
	s.Excuse(since+int64(stage.Horizon-stage.RenewalTime-busyTime), promoted+int64(quarantineTime))
	quarantined(s, since, promoted, workers...)
}

// runRolling restarts the servers one after the other.
func runRolling(s *stage.Stage) {
	var workers []*worker.Worker
	if _, ok := s.Backend.(backend.Layered); ok { // nobody is served while either of the two is away
		workers = patientHolders(s, restartHorizon)
	} else {
		workers = holders(s, "one", "two")
	}
	backend.Rolling(s, s.Backend, func() {
		renewed(s, time.Now(), workers...)
		unmoved(s, workers...)
	})
}

// runRedisRolling restarts servers that may have forgotten windows then.
func runRedisRolling(s *stage.Stage) {
	workers := holders(s, "one", "two")
	began := journal.Now()
	backend.Rolling(s, s.Backend, nil)
	s.Backend.Restart(s) // all run: it waits until those of a Cluster have found each other
	served := journal.Now()
	s.Excuse(began+int64(stage.Horizon-stage.RenewalTime-busyTime), served+int64(quarantineTime))
	quarantined(s, began, served, workers...)
}
