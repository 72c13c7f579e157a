package scenarios

import (
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

// losses are scenarios in which servers lose what they have confirmed.
var losses = []stage.Scenario{{
	Name: "old-copy",
	About: "a copy of the data that is older than a TTL comes back under six generators, two " +
		"of which start anew within two seconds: they wait until the others have noticed, " +
		"and nobody else has to know",
	Backends: []string{"etcd", "etcd3", "zk", "zk3"}, Short: []string{"etcd", "zk"},
	Recovery: lossTime, Budget: 5 * time.Minute,
	Run: runOldCopy,
}, {
	Name: "rollback",
	About: "an older copy of the data comes back, and the operator declares a quarantine: " +
		"nothing is granted in it; then it comes back again, which the holders alone notice",
	Backends: with(servers, "etcd3", "zk3", "cluster"), Short: []string{"kubernetes"},
	Recovery: lossTime, Budget: 5 * time.Minute,
	Run: runRollback,
}, {
	Name: "deleted",
	About: "all that is stored is deleted under servers that go on, in each way that there is:" +
		" a quarantine, no more and no less, and IDs after it",
	Backends: []string{"redis", "cluster", "postgres", "mariadb", "kubernetes"},
	Short:    []string{"redis"},
	Recovery: lossTime, Budget: 8 * time.Minute,
	Run: runDeleted,
}, {
	Name: "replica-behind",
	About: "a replica without the last writes becomes the primary: a quarantine, and IDs after" +
		" it, also of a holder that it has never heard of",
	Backends: []string{"sentinel", "postgres-standby", "mariadb-replica"},
	Short:    []string{"sentinel"},
	Recovery: lossTime, Budget: 5 * time.Minute,
	Run: runReplicaBehind,
}}

const (
	// longReach and redisReach are MaxHorizon: how far windows can reach that were forgotten.
	longReach, redisReach = 2 * time.Minute, 30 * time.Second
	// lossTime is how long a holder may take to its next ID after a loss: ZooKeeper refuses clients
	// that have seen more until their session is given up; then come the renewal that notices and
	// the quarantine, with the skew bound once for the clocks and once for whoever raises the
	// floor.
	lossTime = stage.TTLKeeper + stage.RenewalTime + longReach + 2*stage.SkewBound + busyTime
)

// bounds returns how far windows can reach that the servers have forgotten, and how long a holder
// may take to its next ID after that.
func bounds(s *stage.Stage) (windows, recovery time.Duration) {
	if s.On("redis", "cluster", "sentinel") {
		return redisReach, lossTime - longReach + redisReach
	}
	return longReach, lossTime
}

// noticed waits until the calls of each worker fail, because nothing is granted since a moment.
func noticed(s *stage.Stage, since int64, workers ...*worker.Worker) {
	for _, w := range workers {
		// A holder whose worker ID was forgotten gets another one, with a window behind the
		// quarantine.
		e := s.AwaitMatch(w, "a quarantine", func(e worker.Event) bool {
			return e.At >= since && (e.Is(worker.Failed, worker.Quarantined) ||
				e.Is(worker.Failed, worker.WindowNotOpen))
		})
		s.Logf("process %d: %s", w.PID(), e.Text)
		if took := time.Duration(e.At - since); took > windowTime+resumeTime {
			// the servers take their time to start
			s.Errorf("process %d could issue for %v after the loss; its window is %v", w.PID(), took,
				stage.Horizon)
		}
	}
	quiet(s, workers...)
}

// resumed waits until each worker issues IDs again after a quarantine, and goes on. What caused
// that has happened between two moments, began and ended. Windows that were open then have ended by
// [windowTime] after, and no ID may be issued from then on until the quarantine has taken its time.
func resumed(s *stage.Stage, began, ended int64, workers ...*worker.Worker) {
	windows, recovery := bounds(s)
	s.Scenario.Recovery = recovery
	stood := ended + int64(windowTime)
	s.Excuse(began, ended+int64(recovery))
	for _, w := range workers {
		s.Until(func() bool { return w.Last() > stood }, "process %d issues IDs again", w.PID())
		s.RecoveredIn(time.Duration(firstAfter(s, w, stood) - ended))
	}
	silent(s, stood, began+int64(windows), workers...)
	s.AwaitMore(issuedEach, workers...)
	s.Uninterrupted(silence)
}

// raised waits until holders have raised the floor for a loss, as far as windows reach.
func raised(s *stage.Stage) {
	windows, _ := bounds(s)
	want := time.Now().Add(windows - windowTime)
	a := admin(s)
	var ns coord.Namespace
	s.Until(func() bool {
		var err error
		ns, err = a.Inspect(s.Context())
		return err == nil && !ns.Floor.Before(want)
	}, "the floor is %v at least", want)
	s.Logf("nothing is granted before %v, for what was lost before %v", ns.Floor, ns.Lost)
}

// runOldCopy puts back what was stored before four of six generators had started.
func runOldCopy(s *stage.Stage) {
	workers := holders(s, "one", "two")
	snapshot := s.Backend.Snapshot(s)
	workers = append(workers, holders(s, "three", "four", "five", "six")...)
	s.Sleep(s.TTL() + 2*stage.SkewBound)
	began := journal.Now()
	s.Backend.Restore(s, snapshot)
	served := journal.Now()
	for i, name := range []string{"five again", "six again"} {
		workers[4+i].Kill()
		s.Sleep(time.Second / 2)
		workers[4+i] = s.Worker(name, s.Generator(name))
	}
	raised(s)
	quiet(s, workers[4:]...)
	for _, w := range workers[4:] {
		if n := w.Issued(); n > 0 {
			s.Errorf("process %d has begun after a loss, and has issued %d IDs", w.PID(), n)
		}
	}
	if s.Short {
		s.Excuse(began, journal.Now())
		return
	}
	resumed(s, began, served, workers...)
}

// runRollback brings back a copy, and again while the quarantine of the first time is on.
func runRollback(s *stage.Stage) {
	workers := holders(s, "one", "two")
	snapshot := s.Backend.Snapshot(s)
	workers = append(workers, holders(s, "forgotten")...)
	began := journal.Now()
	s.Backend.Restore(s, snapshot)
	first := journal.Now()
	windows, recovery := bounds(s)
	operator := admin(s)
	var floor time.Time
	s.Until(func() bool { // Redis may be loading its data
		var err error
		floor, err = operator.Quarantine(s.Context(), time.Time{})
		return err == nil
	}, "an operator can declare a quarantine")
	if ahead := time.Until(floor); ahead < windows-busyTime {
		s.Errorf("the floor that the operator has raised is %v ahead; windows that were forgotten "+
			"can reach %v", ahead, windows)
	}
	workers = append(workers, s.Worker("newcomer", s.Generator("newcomer")))
	noticed(s, began, workers[:3]...)
	s.Excuse(began, first+int64(recovery))
	began = journal.Now()
	s.Backend.Restore(s, snapshot)
	served := journal.Now()
	raised(s)
	quiet(s, workers...)
	if s.Short {
		return
	}
	resumed(s, began, served, workers...)
}

// runDeleted has everything deleted in each way.
func runDeleted(s *stage.Stage) {
	workers := holders(s, "one", "two")
	windows, _ := bounds(s)
	for _, loss := range s.Backend.Loses[:s.Rounds(len(s.Backend.Loses), 1)] {
		s.Logf("%s", loss.Name)
		began := journal.Now()
		loss.Do(s)
		gone := journal.Now()
		noticed(s, began, workers...)
		newcomer := s.Worker("newcomer", s.Generator("newcomer"))
		resumed(s, began, gone, append(workers, newcomer)...)
		if at := firstAfter(s, newcomer, 0); at < began+int64(windows) {
			s.Errorf("a newcomer has issued an ID %v after everything was deleted; it has a window after %v",
				time.Duration(at-began), windows)
		}
		newcomer.Terminate(s)
	}
}

// runReplicaBehind kills a primary that knows more than its replica.
func runReplicaBehind(s *stage.Stage) {
	workers := holders(s, "one", "two")
	s.Backend.Detach(s)
	workers = append(workers, holders(s, "forgotten")...)
	renewed(s, time.Now(), resumeTime, workers...)
	began := journal.Now()
	s.Backend.Promote(s)
	promoted := journal.Now()
	noticed(s, began, workers...)
	resumed(s, began, promoted, workers...)
}
