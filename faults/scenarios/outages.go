package scenarios

import (
	"time"

	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

var outages = []stage.Scenario{{
	Number: 12, Name: "short-freeze", About: "SIGSTOP of all servers for longer than a TTL, and shorter than H-R: nobody notices",
	Backends: []string{"etcd", "etcd3", "embedded", "redis", "cluster", "zk", "zk3", "postgres", "mariadb", "kubernetes"},
	MinIDs:   20_000, Budget: time.Minute,
	Short: &stage.Short{MinIDs: 10_000, Budget: time.Minute, Backends: []string{"redis"}},
	Run:   runShortFreeze,
}, {
	Number: 12, Name: "short-outage", About: "kill -9 of all servers, which are started again within the horizon: nobody notices",
	Backends: []string{"etcd", "etcd3", "zk", "zk3", "postgres", "mariadb", "kubernetes"},
	MinIDs:   20_000, Budget: 90 * time.Second,
	Short: &stage.Short{MinIDs: 8_000, Budget: time.Minute, Backends: []string{"etcd3"}},
	Run:   runShortOutage,
}, {
	Number: 13, Name: "long-outage", About: "kill -9 of all servers for three horizons: an error when the windows end, and IDs at most 2 s after the servers serve",
	Backends: []string{"etcd", "etcd3", "zk", "zk3", "postgres", "mariadb", "kubernetes"},
	MinIDs:   20_000, Recovery: resumeTime, Budget: 2 * time.Minute,
	Short: &stage.Short{MinIDs: 20_000, Budget: time.Minute, Backends: []string{"etcd", "zk", "postgres", "mariadb"}},
	Run:   runLongOutage,
}, {
	Number: 13, Name: "long-freeze", About: "SIGSTOP of all servers for three horizons: an error when the windows end, and IDs at most 2 s after the servers go on",
	Backends: []string{"embedded", "redis", "cluster", "etcd3", "zk3", "postgres", "mariadb", "kubernetes"},
	MinIDs:   20_000, Recovery: resumeTime, Budget: 2 * time.Minute,
	Short: &stage.Short{MinIDs: 20_000, Budget: time.Minute, Backends: []string{"embedded"}},
	Run:   runLongFreeze,
}, {
	Number: 13, Name: "redis-outage", About: "kill -9 of a Redis for longer than the horizon: an error when the windows end, and a quarantine of 30.5 s after it serves, no more and no less",
	Backends: []string{"redis", "sentinel", "cluster"},
	MinIDs:   20_000, Recovery: quarantineTime, Budget: 2 * time.Minute,
	Run: runRedisOutage,
}}

// runShortFreeze freezes the servers several times.
func runShortFreeze(s *stage.Stage) {
	workers := holders(s, "one", "two")
	for range s.Rounds(2, 1) {
		s.Backend.Freeze(s)
		s.Sleep(outage)
		s.Backend.Thaw(s)
		renewed(s, time.Now(), workers...)
		unmoved(s, workers...)
	}
}

// restartHorizon bridges the restart of an ensemble of ZooKeeper on a busy machine.
const restartHorizon = 25 * time.Second

// patientHolders starts two workers with a generator each that have another horizon than the others of the suite, and
// waits until they have issued IDs.
func patientHolders(s *stage.Stage, horizon time.Duration) (workers []*worker.Worker) {
	for _, name := range []string{"one", "two"} {
		g := s.Generator(name)
		g.Horizon = horizon
		workers = append(workers, s.Worker(name, g))
	}
	for _, w := range workers {
		s.AwaitIssued(w, issuedEach)
	}
	return workers
}

// runShortOutage kills the servers several times.
func runShortOutage(s *stage.Stage) {
	workers := patientHolders(s, restartHorizon)
	for range s.Rounds(2, 1) {
		killed := journal.Now()
		s.Backend.Kill(s)
		s.Sleep(s.TTL())
		s.Backend.Restart(s)
		served := time.Now()
		s.Logf("the servers were away for %v", time.Duration(journal.Now()-killed).Round(time.Millisecond))
		renewed(s, served, workers...)
		unmoved(s, workers...)
	}
}

// runLongOutage kills the servers for longer than any window.
func runLongOutage(s *stage.Stage) {
	workers := holders(s, "one", "two")
	began := journal.Now()
	s.Backend.Kill(s)
	cut := journal.Now()
	windowEnds(s, began, cut, workers...)
	stood := quiet(s, longOutage(s)-time.Duration(journal.Now()-cut), workers...)
	s.Backend.Restart(s)
	served := journal.Now()
	s.Excuse(stood, served)
	back(s, served, workers...)
}

// runLongFreeze freezes the servers for longer than any window.
func runLongFreeze(s *stage.Stage) {
	workers := holders(s, "one", "two")
	began := journal.Now()
	s.Backend.Freeze(s)
	cut := journal.Now()
	windowEnds(s, began, cut, workers...)
	stood := quiet(s, longOutage(s)-time.Duration(journal.Now()-cut), workers...)
	s.Backend.Thaw(s)
	s.Backend.Restart(s) // none has ended: it waits until those of a Cluster have found each other
	served := journal.Now()
	s.Excuse(stood, served)
	back(s, served, workers...)
}

// runRedisOutage kills Redis, which may have forgotten windows then.
func runRedisOutage(s *stage.Stage) {
	workers := holders(s, "one", "two")
	began := journal.Now()
	s.Backend.Kill(s)
	windowEnds(s, began, journal.Now(), workers...)
	stood := quiet(s, quietTime, workers...)
	restarted := journal.Now()
	s.Backend.Restart(s)
	served := journal.Now()
	s.Excuse(stood, served+int64(quarantineTime))
	quarantined(s, restarted, served, workers...)
}

// quarantined waits until each worker has told of a quarantine that has begun between the moments from and to, see
// journal.Now, and until it has issued IDs again. No ID may be issued in the quarantine.
func quarantined(s *stage.Stage, from, to int64, workers ...*worker.Worker) {
	for _, w := range workers {
		e := s.AwaitEventSince(w, from, worker.Failed, worker.Quarantined)
		s.Logf("process %d: %s", w.PID(), e.Text)
	}
	quiet(s, forgottenTime-time.Duration(journal.Now()-from), workers...)
	for _, w := range workers {
		s.RecoveredFrom(to, w)
	}
	for _, w := range workers {
		s.AwaitIssued(w, w.Issued()+issuedEach)
	}
	s.Uninterrupted(silence)
}
