package scenarios

import (
	"time"

	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

var frozen = []stage.Scenario{{
	Number: 4, Name: "frozen-past-ttl", About: "SIGSTOP of a holder for two TTLs while another one wants its worker ID: it goes on inside its old window alone, and leases anew",
	Backends: []string{"etcd", "redis", "static", "file", "zk", "postgres", "mariadb", "kubernetes"},
	MinIDs:   3 * issuedEach, Recovery: thawTime, Budget: time.Minute, Short: &stage.Short{MinIDs: 3 * issuedEach, Budget: time.Minute, Backends: []string{"etcd", "redis", "static", "file", "zk"}},
	Run: func(s *stage.Stage) { runFrozen(s, 2*s.TTL()) },
}, {
	Number: 5, Name: "frozen-past-horizon", About: "SIGSTOP of a holder for two horizons while another one takes its worker ID: no ID before it has leased anew",
	Backends: []string{"etcd", "redis", "static", "file", "zk", "postgres", "mariadb", "kubernetes"},
	MinIDs:   3 * issuedEach, Recovery: thawTime, Budget: time.Minute, Short: &stage.Short{MinIDs: 3 * issuedEach, Budget: time.Minute, Backends: []string{"etcd", "redis", "static", "file", "zk", "postgres", "mariadb"}},
	Run: func(s *stage.Stage) { runFrozen(s, 2*stage.Horizon) },
}}

// thawTime is how long a holder may take to issue IDs again after it was frozen, or its coordinator.
const thawTime = 2*time.Second + busyTime

// runFrozen freezes a holder for a time, while another one wants its worker ID.
func runFrozen(s *stage.Stage, d time.Duration) {
	g := s.Generator("first")
	s.Init(g.URL, "")
	first := s.Worker("first", g)
	held := s.AwaitEvent(first, worker.Ready, "").Workers[0]
	s.AwaitIssued(first, issuedEach)

	first.Freeze(s)
	began := journal.Now()
	g = s.Generator("second")
	g.First, g.Count = held, 1
	second := s.Worker("second", g)
	static := s.Backend.Name() == "static"
	if static { // what a frozen process has locked stays locked
		s.AwaitEvent(second, worker.Failed, worker.NoWorkerID)
	}
	s.Sleep(d - time.Duration(journal.Now()-began))
	thawed := journal.Now()
	first.Thaw(s)
	s.Recovered(thawed, first)
	if static {
		s.AwaitIssued(first, first.Issued()+issuedEach)
		first.Terminate(s)
	}
	s.AwaitIssued(second, issuedEach)
	if static {
		return
	}
	// The second one issues, so the first one has another worker ID now, or takes one.
	e := s.AwaitEventSince(first, began, worker.Change, "")
	for !e.Healthy || e.Workers[0] == held {
		e = s.AwaitEventSince(first, e.At+1, worker.Change, "")
	}
	s.Logf("%v after it was thawed the first one holds worker ID %d", time.Duration(e.At-thawed).Round(time.Millisecond), e.Workers[0])
	s.AwaitIssued(first, first.Issued()+issuedEach)
	s.AwaitIssued(second, second.Issued()+issuedEach)
}
