package scenarios

import (
	"encoding/binary"
	"time"

	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// delayed are scenarios for ZooKeeper, which carries out the requests of a session in their order and on its connection
// alone: one that is late makes those after it late, too, and none of them arrives once the session has ended.
var delayed = []stage.Scenario{{
	Number: 10, Name: "delayed-acquire", About: "the request that takes a worker ID comes late, on a session that is alive, when it has another holder: refused, and nothing changes for that",
	Backends: []string{"zk", "zk3"},
	MinIDs:   3 * issuedEach, Recovery: delayedTime, Budget: time.Minute,
	Run: runDelayedAcquire,
}}

const (
	// shortDelay is that of the requests before the one that takes a worker ID, and longDelay that of this one: another
	// process starts and takes the worker ID in that time. A session of usualTTL outlasts both.
	shortDelay = 2 * time.Second
	longDelay  = 4 * time.Second
	// delayedTime is how long a generator may take to its first ID after its worker ID was given back: what is under way
	// to the servers arrives, and the next try is not delayed.
	delayedTime = longDelay + stage.RenewalTime + busyTime
)

// isMulti reports whether a request to ZooKeeper changes several nodes at once, as an acquisition does.
func isMulti(request []byte) bool {
	const operation = 8 // after the length and the number
	return len(request) >= operation+4 && binary.BigEndian.Uint32(request[operation:]) == zktest.OpMulti
}

// runDelayedAcquire has somebody else take a worker ID while the request that is to take it is under way.
func runDelayedAcquire(s *stage.Stage) {
	s.Init(s.Backend.URL(), "")
	g, way := apart(s, "first")
	g.URL = elsewhere(s, s.Backend.URL(patientSkew), way.Addrs()...)
	g.Count, g.TTL, g.Horizon = 1, usualTTL, usualHorizon
	way.DelayRequests(shortDelay)
	asked := way.Copy(s.Backend.IsCall) // which is not delivered twice
	first := s.Worker("first", g)
	caught(s, asked)
	way.DelayRequests(longDelay)
	taken := way.Copy(isMulti)
	caught(s, taken)
	sent := journal.Now()
	second := s.Worker("second", only(s, "second"))
	e := s.AwaitEvent(second, worker.Ready, "")
	s.Logf("the worker ID was taken by another one %v after it was asked for", time.Duration(e.At-sent).Round(time.Millisecond))
	if e.At-sent >= int64(longDelay) {
		s.Errorf("it took %v until another one had the worker ID; the request that is late by %v shows nothing then", time.Duration(e.At-sent), longDelay)
	}
	refused := s.AwaitEventSince(first, sent, worker.Failed, worker.NoWorkerID)
	s.Logf("refused %v after it was asked for: %s", time.Duration(refused.At-sent).Round(time.Millisecond), refused.Text)
	s.AwaitIssued(second, second.Issued()+issuedEach)
	keeps(s, second, held(s, second), 0)
	startedWell(s, second)
	if n := first.Issued(); n > 0 {
		s.Errorf("%d IDs were issued by a process whose request came late", n)
	}
	way.Heal()
	second.Terminate(s)
	ended := journal.Now()
	s.Recovered(ended, first)
	s.AwaitIssued(first, 2*issuedEach)
	first.Terminate(s)
}
