package scenarios

import (
	"time"

	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/history"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

var replicas = []stage.Scenario{{
	Number: 27, Name: "replica-behind", About: "a replica without the last writes becomes the primary: a quarantine, and IDs after it, also of a holder that it has never heard of",
	Backends: []string{"sentinel", "postgres-standby", "mariadb-replica"},
	MinIDs:   10_000, Recovery: quarantineTime, Budget: 4 * time.Minute,
	Rules: []history.Rule{history.StateLost},
	Run:   runReplicaBehind,
}, {
	Number: 28, Name: "failback", About: "a replica without the last writes becomes the primary, and the old primary again, while all holders are frozen: they find the server that they know, with older data, and a quarantine",
	Backends: []string{"sentinel", "postgres-standby", "mariadb-replica"},
	MinIDs:   10_000, Recovery: quarantineTime, Budget: 4 * time.Minute,
	Rules: []history.Rule{history.StateLost},
	Run:   runFailback,
}}

// behind ends the replication, and returns holders that the replica knows, and one that it does not.
func behind(s *stage.Stage) []*worker.Worker {
	workers := holders(s, "one", "two")
	s.Backend.(backend.Replicated).Detach(s)
	forgotten := s.Worker("forgotten", s.Generator("forgotten"))
	workers = append(workers, forgotten)
	s.AwaitIssued(forgotten, issuedEach)
	renewed(s, time.Now(), workers...)
	return workers
}

// forgotten returns how far windows can reach that the servers have forgotten, and how long a holder may take to its
// next ID after that.
func forgotten(s *stage.Stage) (windows, recovery time.Duration) {
	switch s.Backend.(type) {
	case backend.Tables, backend.Objects:
		return longForgotten, tablesTime
	}
	return forgottenTime, quarantineTime
}

// runReplicaBehind kills a primary that knows more than its replica.
func runReplicaBehind(s *stage.Stage) {
	workers := behind(s)
	windows, recovery := forgotten(s)
	s.Scenario.Recovery = recovery
	since := journal.Now()
	s.Backend.(backend.Replicated).Failover(s)
	promoted := journal.Now()
	s.Excuse(since+int64(stage.Horizon-stage.RenewalTime-busyTime), promoted+int64(recovery))
	noticed(s, since, workers...)
	resumed(s, since, promoted, windows, workers...)
	s.Uninterrupted(silence)
}

// runFailback makes each server the primary once, and nobody sees the replica in between.
func runFailback(s *stage.Stage) {
	workers := behind(s)
	windows, recovery := forgotten(s)
	s.Scenario.Recovery = recovery
	r := s.Backend.(backend.Replicated)
	old := r.Leader(s)
	since := journal.Now()
	for _, w := range workers {
		w.Freeze(s)
	}
	r.SwitchOver(s)
	r.SwitchOver(s)
	if r.Leader(s) != old {
		s.Fatalf("the primary is not the old one after a failover and back")
	}
	thawed := journal.Now()
	for _, w := range workers {
		w.Thaw(s)
	}
	s.Excuse(since, thawed+int64(recovery))
	noticed(s, thawed, workers...)
	resumed(s, thawed, thawed, windows, workers...)
	s.Uninterrupted(silence)
}
