package scenarios

import (
	"slices"
	"time"

	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/proxy"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

var partitions = []stage.Scenario{{
	Number: 14, Name: "short-one-way-loss", About: "the network loses what clients send, then what servers send, for longer than a TTL and shorter than H-R: nobody notices",
	Backends: []string{"etcd", "etcd3", "redis", "cluster", "zk", "zk3", "postgres", "mariadb", "kubernetes"},
	MinIDs:   20_000, Budget: time.Minute,
	Run: runShortLoss,
}, {
	Number: 14, Name: "long-one-way-loss", About: "the same for one holder, until its window has ended and another one has its worker ID: an error, and another worker ID at most 2 s after",
	Backends: []string{"etcd", "etcd3", "redis", "zk", "zk3", "postgres", "mariadb", "kubernetes"},
	MinIDs:   20_000, Recovery: resumeTime, Budget: 90 * time.Second,
	Short: &stage.Short{MinIDs: 10_000, Budget: time.Minute, Backends: []string{"etcd", "redis"}},
	Run:   runLongLoss,
}, {
	Number: 14, Name: "long-one-way-loss-of-all", About: "the same for all clients, until their windows have ended: an error, and IDs at most 2 s after",
	Backends: []string{"cluster"},
	MinIDs:   20_000, Recovery: resumeTime, Budget: 90 * time.Second,
	Run: runLongLossOfAll,
}, {
	Number: 17, Name: "minority-client", About: "a client sees only one member, which is cut off from the others: an error when its window ends, none for the others, and IDs again once the member is back",
	Backends: []string{"etcd3", "zk3"},
	MinIDs:   20_000, Recovery: rejoinTime, Budget: 90 * time.Second,
	Short: &stage.Short{MinIDs: 10_000, Budget: time.Minute, Backends: []string{"etcd3"}},
	Run:   runMinority,
}}

// directions are the faults of a network that loses what goes one way.
var directions = []struct {
	name string
	lose func(*proxy.Proxy)
}{
	{"requests", (*proxy.Proxy).LoseRequests},
	{"replies", (*proxy.Proxy).LoseReplies},
}

// runShortLoss has the network lose something for a while.
func runShortLoss(s *stage.Stage) {
	workers := holders(s, "one", "two")
	for _, d := range directions {
		s.Logf("%s are lost", d.name)
		d.lose(s.Backend.Proxy())
		s.Sleep(outage)
		s.Backend.Proxy().Heal()
		renewed(s, time.Now(), workers...)
		unmoved(s, workers...)
	}
}

// runLongLoss has the network lose something of one holder's, and then of another one's.
func runLongLoss(s *stage.Stage) {
	rounds := directions
	if s.Short {
		rounds = directions[1:] // the requests arrive: more can happen
	}
	for _, d := range rounds {
		g, way := apart(s, "cut-off by lost "+d.name)
		w := s.Worker("cut-off", g)
		had := held(s, w)
		s.AwaitIssued(w, issuedEach)
		began := journal.Now()
		d.lose(way)
		cut := journal.Now()
		next := s.Worker("next", wants(s, "next after lost "+d.name, had))
		windowEnds(s, began, cut, w)
		s.AwaitIssued(next, issuedEach)
		quiet(s, quietTime, w)
		healed := journal.Now()
		way.Heal()
		back(s, healed, w)
		if ids := workerIDs(s, w, healed); slices.Contains(ids, had) {
			s.Errorf("process %d issues with the worker ID %d, which another one has", w.PID(), had)
		}
		startedWell(s, next)
	}
}

// runLongLossOfAll has the network lose something of everybody's.
func runLongLossOfAll(s *stage.Stage) {
	workers := holders(s, "one", "two")
	for _, d := range directions {
		s.Logf("%s are lost", d.name)
		began := journal.Now()
		d.lose(s.Backend.Proxy())
		windowEnds(s, began, journal.Now(), workers...)
		stood := quiet(s, quietTime, workers...)
		healed := journal.Now()
		s.Backend.Proxy().Heal()
		s.Excuse(stood, healed)
		back(s, healed, workers...)
	}
}

// rejoinTime is how long a holder may take to its next ID once the only member that it sees can reach the others
// again: the member has to notice, and may have stood for election.
const rejoinTime = 5*time.Second + busyTime

// runMinority cuts a follower off that is all that one client sees.
func runMinority(s *stage.Stage) {
	leader := slices.Index(s.Backend.Servers(), s.Backend.(backend.Elected).Leader(s))
	member := (leader + 1) % len(s.Backend.Servers())
	only := s.Backend.Proxy().Addrs()[member]
	others := holders(s, "one", "two")
	g := s.Generator("minority")
	g.URL = elsewhere(s, g.URL, only)
	w := s.Worker("minority", g)
	s.AwaitIssued(w, issuedEach)

	began := journal.Now()
	heal := cutOff(s, s.Backend.Servers()[member])
	cut := journal.Now()
	newcomer := s.Generator("newcomer")
	newcomer.URL = elsewhere(s, newcomer.URL, only)
	refused := s.Worker("newcomer", newcomer)
	windowEnds(s, began, cut, w)
	e := s.AwaitEvent(refused, worker.Failed, "")
	s.Logf("a newcomer there: %s", e.Text)
	quiet(s, quietTime, w, refused)
	if n := refused.Issued(); n > 0 {
		s.Errorf("a newcomer has issued %d IDs, and sees only a member that is cut off", n)
	}
	unmoved(s, others...)
	healed := journal.Now()
	heal()
	back(s, healed, w, refused)
	unmoved(s, others...)
}

// cutOff separates a server from the others, whether or not clients reach it, and returns what ends that. One
// that cannot be separated stands still.
func cutOff(s *stage.Stage, server backend.Server) (heal func()) {
	if d, ok := s.Backend.(backend.Divisible); ok {
		d.CutOff(s, server)
		return func() { d.Rejoin(s, server) }
	}
	server.Freeze(s)
	return func() { server.Thaw(s) }
}
