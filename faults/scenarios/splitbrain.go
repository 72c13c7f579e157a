package scenarios

import (
	"strings"
	"time"

	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/history"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

var splitBrains = []stage.Scenario{{
	Number: 29, Name: "split-brain-guarded", About: "a primary is cut off while its replica becomes one, with min-replicas-to-write 1: the old one confirms nothing any more",
	Backends: []string{"sentinel"},
	MinIDs:   2 * issuedEach, Recovery: quarantineTime, Budget: 90 * time.Second,
	Rules: []history.Rule{history.StateLost},
	Run:   func(s *stage.Stage) { runSplitBrain(s, true) },
}, {
	Number: 29, Name: "split-brain", About: "the same without min-replicas-to-write: two primaries confirm windows, and IDs are issued twice; this is documented",
	Backends: []string{"sentinel"},
	MinIDs:   2 * issuedEach, Recovery: quarantineTime, Budget: 90 * time.Second,
	ExpectDuplicates: true,
	Run:              func(s *stage.Stage) { runSplitBrain(s, false) },
}, {
	Number: 29, Name: "standby-split-brain-guarded", About: "a standby becomes a primary beside the old one, which waits for it with each commit: the old one confirms nothing any more",
	Backends: []string{"postgres-standby", "mariadb-replica"},
	MinIDs:   2 * issuedEach, Recovery: tablesTime, Budget: 4 * time.Minute,
	Rules: []history.Rule{history.StateLost},
	Run:   func(s *stage.Stage) { runStandbySplit(s, true) },
}, {
	Number: 29, Name: "standby-split-brain", About: "the same where the old one does not wait: two primaries confirm windows, and IDs are issued twice; this is documented",
	Backends: []string{"postgres-standby", "mariadb-replica"},
	MinIDs:   2 * issuedEach, Recovery: tablesTime, Budget: 4 * time.Minute,
	ExpectDuplicates: true,
	Run:              func(s *stage.Stage) { runStandbySplit(s, false) },
}}

// runSplitBrain has two primaries at a time, and a holder at each that wants the same worker ID.
func runSplitBrain(s *stage.Stage, guarded bool) {
	r := s.Backend.(backend.Replicated)
	old := r.Leader(s).(*redistest.Server)
	if guarded {
		old.Do(s, "CONFIG", "SET", "min-replicas-to-write", "1", "min-replicas-max-lag", "2")
	}
	holder := s.Worker("holder", at(old, s.Generator("holder")))
	had := held(s, holder)
	s.AwaitIssued(holder, issuedEach)

	began := journal.Now()
	r.Detach(s)
	forgetSentinel(s)
	other := s.Backend.Servers()[0].(*redistest.Server)
	if other == old {
		other = s.Backend.Servers()[1].(*redistest.Server)
	}
	other.Do(s, "REPLICAOF", "NO", "ONE")
	promoted := journal.Now()
	newcomer := s.Worker("newcomer", at(other, wants(s, "newcomer", had)))
	if guarded {
		windowEnds(s, began, promoted, holder)
		stood := quiet(s, quietTime, holder)
		s.Excuse(stood, promoted+int64(quarantineTime))
	}
	resumed(s, began, promoted, forgottenTime, newcomer)
	if guarded {
		quiet(s, quietTime, holder)
		return
	}
	s.AwaitIssued(holder, holder.Issued()+issuedEach)
}

// runStandbySplit is runSplitBrain for databases. Each process knows one of the servers.
func runStandbySplit(s *stage.Stage, guarded bool) {
	b := s.Backend.(backend.Divided)
	if guarded {
		b.Guard(s)
	}
	oldAddr, newAddr := b.Addrs(s)
	g := s.Generator("holder")
	g.URL = elsewhere(s, g.URL, oldAddr)
	holder := s.Worker("holder", g)
	had := held(s, holder)
	s.AwaitIssued(holder, issuedEach)

	began := journal.Now()
	b.Split(s)
	promoted := journal.Now()
	g = wants(s, "newcomer", had)
	g.URL = elsewhere(s, g.URL, newAddr)
	newcomer := s.Worker("newcomer", g)
	if guarded {
		windowEnds(s, began, promoted, holder)
		stood := quiet(s, quietTime, holder)
		s.Excuse(stood, promoted+int64(tablesTime))
	}
	resumed(s, began, promoted, longForgotten, newcomer)
	if guarded {
		quiet(s, quietTime, holder)
		return
	}
	s.AwaitIssued(holder, holder.Issued()+issuedEach)
}

// at returns a generator that knows one Redis server, and no Sentinel.
func at(server *redistest.Server, g worker.Generator) worker.Generator {
	_, options, _ := strings.Cut(g.URL, "?")
	g.URL = "redis://" + server.Addr + "?" + options
	return g
}

// forgetSentinel has the Sentinel look after nobody any more, so that it does not end what the scenario does.
func forgetSentinel(s *stage.Stage) {
	addr, _, _ := strings.Cut(strings.TrimPrefix(s.Backend.URL(), "redis-sentinel://"), "/")
	c := redistest.Connect(s, addr, "")
	if err := c.Do(streamtest.Within(s), "SENTINEL", "REMOVE", redistest.MasterName).Err(); err != nil {
		s.Fatalf("the Sentinel does not forget its primary: %v", err)
	}
}
