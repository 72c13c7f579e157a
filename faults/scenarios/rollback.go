package scenarios

import (
	"fmt"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/faults/history"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

var rollbacks = []stage.Scenario{{
	Number: 25, Name: "redis-rollback", About: "an older copy of the data comes back, twice the same one: a quarantine each time, and IDs when it is over",
	Backends: []string{"redis", "sentinel", "cluster"},
	MinIDs:   10_000, Recovery: quarantineTime, Budget: 3 * time.Minute,
	Rules: []history.Rule{history.StateLost},
	Run:   runRedisRollback,
}, {
	Number: 25, Name: "rollback", About: "an older copy of the data comes back, and the operator declares a quarantine: nothing is granted in it; then it comes back again, which the holders alone notice",
	Backends: []string{"etcd", "etcd3", "zk", "zk3", "postgres", "mariadb", "kubernetes"},
	MinIDs:   10_000, Recovery: lossTime, Budget: 5 * time.Minute,
	Short: &stage.Short{MinIDs: 5_000, Budget: time.Minute, Backends: []string{"etcd", "zk", "postgres", "mariadb", "kubernetes"}},
	Rules: []history.Rule{history.StateLost},
	Run:   runRollback,
}}

const (
	// longForgotten is MaxHorizon of etcd and ZooKeeper: how far windows can reach that they have forgotten.
	longForgotten = 2 * time.Minute
	// lossTime is how long a holder there may take to its next ID after a rollback: ZooKeeper refuses clients that
	// have seen more until their session is given up; then come the renewal that notices and the quarantine, with the
	// skew bound once for the clocks and once for whoever raises the floor.
	lossTime = stage.TTLKeeper + stage.RenewalTime + longForgotten + 2*stage.SkewBound + busyTime
	// windowTime is how long it may take until the calls of a holder fail after a rollback: its window ends.
	windowTime = stage.Horizon + stage.SkewBound + busyTime
)

// admin returns an operator's view of the namespace, until the scenario ends.
func admin(s *stage.Stage) coord.Admin {
	c, err := coord.Open(s.Context(), s.Backend.URL(), coord.OpenOptions{})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = c.Close() })
	a, ok := c.(coord.Admin)
	if !ok {
		s.Fatalf("%s has no operators", s.Backend.Name())
	}
	return a
}

// inspect returns what is stored for the namespace.
func inspect(s *stage.Stage) coord.Namespace {
	ns, err := admin(s).Inspect(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	return ns
}

// runRedisRollback brings back the same copy twice.
func runRedisRollback(s *stage.Stage) {
	workers := holders(s, "one", "two")
	snapshot := s.Backend.Snapshot(s)
	for i := range 2 {
		name := fmt.Sprintf("forgotten-%d", i)
		forgotten := s.Worker(name, s.Generator(name))
		workers = append(workers, forgotten)
		s.AwaitIssued(forgotten, issuedEach)
		began := journal.Now()
		s.Backend.Restore(s, snapshot)
		served := journal.Now()
		s.Excuse(began+int64(stage.Horizon-stage.RenewalTime-busyTime), served+int64(quarantineTime))
		noticed(s, began, workers...)
		resumed(s, began, served, forgottenTime, workers...)
	}
	s.Uninterrupted(silence)
}

// runRollback brings back a copy, and again while the quarantine of the first time is on.
func runRollback(s *stage.Stage) {
	workers := holders(s, "one", "two")
	snapshot := s.Backend.Snapshot(s)
	forgotten := s.Worker("forgotten", s.Generator("forgotten"))
	workers = append(workers, forgotten)
	s.AwaitIssued(forgotten, issuedEach)

	began := journal.Now()
	s.Backend.Restore(s, snapshot)
	first := journal.Now()
	floor, err := admin(s).Quarantine(s.Context(), time.Time{})
	if err != nil {
		s.Fatal(err)
	}
	if ahead := time.Until(floor); ahead < longForgotten-busyTime {
		s.Errorf("the floor that the operator has raised is %v ahead; windows that were forgotten can reach %v", ahead, longForgotten)
	}
	newcomer := s.Worker("newcomer", s.Generator("newcomer"))
	noticed(s, began, workers...)
	s.Excuse(began, first+int64(lossTime))

	began = journal.Now()
	s.Backend.Restore(s, snapshot)
	served := journal.Now()
	raised(s, time.Now().Add(longForgotten-busyTime))
	quiet(s, quietTime, append(workers, newcomer)...)
	if s.Short {
		return
	}
	s.Excuse(began, served+int64(lossTime))
	resumed(s, began, served, longForgotten, append(workers, newcomer)...)
	s.Uninterrupted(silence)
}

// noticed waits until the calls of each worker fail, because nothing is granted since a moment.
func noticed(s *stage.Stage, since int64, workers ...*worker.Worker) {
	for _, w := range workers {
		e, _, err := w.Await(s.Context(), 0, func(e worker.Event) bool {
			// A holder whose worker ID was forgotten gets another one, with a window behind the quarantine.
			return e.At >= since && (e.Is(worker.Failed, worker.Quarantined) || e.Is(worker.Failed, worker.WindowNotOpen))
		})
		if err != nil {
			s.Fatalf("waiting for process %d to be in a quarantine: %v; it has told %+v", w.PID(), err, w.Events())
		}
		s.Logf("process %d: %s", w.PID(), e.Text)
		if took := time.Duration(e.At - since); took > windowTime+resumeTime { // the servers take their time to start
			s.Errorf("process %d could issue for %v after the rollback; its window is %v", w.PID(), took, stage.Horizon)
		}
	}
	quiet(s, quietTime, workers...)
}

// raised waits until the floor is at least as high as given.
func raised(s *stage.Stage, want time.Time) {
	limit := time.Now().Add(windowTime)
	ns := inspect(s)
	for ns.Floor.Before(want) && time.Now().Before(limit) {
		s.Sleep(100 * time.Millisecond)
		ns = inspect(s)
	}
	if ns.Floor.Before(want) {
		s.Errorf("the floor is %v, %v after a rollback; want %v at least", ns.Floor, windowTime, want)
	}
	s.Logf("nothing is granted before %v, for what was lost before %v", ns.Floor, ns.Lost)
}
