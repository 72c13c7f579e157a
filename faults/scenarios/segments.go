package scenarios

import (
	"bytes"
	"cmp"
	"fmt"
	"time"

	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/mysql"
	"github.com/unalike-id/unalike/segment/postgres"
)

var segments = []stage.Scenario{{
	Number: 47, Name: "segments-kill-loop", About: "kill -9 of eight processes that take plain numbers of one tag, one after the other, again and again: no number twice",
	Backends: []string{"etcd", "embedded", "postgres", "mariadb"},
	MinIDs:   100_000_000, Recovery: segmentTime, Budget: 5 * time.Minute, Alone: true,
	Short: &stage.Short{MinIDs: 100_000, Budget: time.Minute, Backends: []string{"etcd", "mariadb"}},
	Run:   runSegmentsKillLoop,
}, {
	Number: 47, Name: "segments-server-killed", About: "kill -9 of the servers while plain numbers are taken, and they are started again: numbers from memory, and new ranges by themselves",
	Backends: []string{"etcd", "postgres", "mariadb"},
	MinIDs:   1_000_000, Recovery: segmentTime, Budget: 5 * time.Minute,
	Short: &stage.Short{MinIDs: 100_000, Budget: time.Minute, Backends: []string{"postgres"}},
	Run:   runSegmentsServerKilled,
}, {
	Number: 47, Name: "segments-lost-replies", About: "replies to taking ranges and to giving them back are lost: what is not known is left out",
	Backends: []string{"etcd", "postgres", "mariadb"},
	MinIDs:   200_000, Recovery: segmentTime, Budget: 4 * time.Minute,
	Short: &stage.Short{MinIDs: 50_000, Budget: time.Minute, Backends: []string{"mariadb"}},
	Run:   runSegmentsLostReplies,
}, {
	Number: 47, Name: "segments-promoted", About: "a standby without the last ranges takes over: nobody takes any from it, until somebody has advanced the tag",
	Backends: []string{"postgres-standby", "mariadb-replica"},
	MinIDs:   100_000, Recovery: segmentTime, Budget: 2 * time.Minute,
	Run: func(s *stage.Stage) { runSegmentsPromoted(s, "") },
}, {
	Number: 47, Name: "segments-promoted-skip", About: "the same with failover=skip: all go on by themselves, above what was taken",
	Backends: []string{"postgres-standby", "mariadb-replica"},
	MinIDs:   100_000, Recovery: segmentTime, Budget: 2 * time.Minute,
	Run: func(s *stage.Stage) { runSegmentsPromoted(s, "?failover=skip:100000000") },
}}

const (
	// segmentTag is the tag of all of them.
	segmentTag = "faults"
	// segmentProcesses is how many processes take numbers.
	segmentProcesses = 8
	// segmentTime is how long it may take until there is a number again once the store can be reached: it is tried
	// again each half of a second, and each two seconds after a refusal.
	segmentTime = 2*time.Second + busyTime
)

// storeURL is the store of segments of the stage's back end.
func storeURL(s *stage.Stage, query string) string {
	s.Helper()
	u, err := driver.ParseURL(s.Backend.URL())
	if err != nil {
		s.Fatal(err)
	}
	if u.Scheme == "embed" {
		return "embed://" + u.Path + cmp.Or(query, "?namespace="+backend.Namespace)
	}
	at := ""
	for i, h := range u.Hosts {
		if i > 0 {
			at += ","
		}
		at += h
	}
	if u.User != nil {
		at = u.User.String() + "@" + at
	}
	return u.Scheme + "://" + at + u.Path + query
}

// withStore calls do with the store.
func withStore(s *stage.Stage, do func(segment.Store) error) {
	s.Helper()
	store, err := segment.Open(s.Context(), storeURL(s, ""), segment.OpenOptions{})
	if err != nil {
		s.Fatal(err)
	}
	defer store.Close() // its work is done
	if err := do(store); err != nil {
		s.Fatal(err)
	}
}

// createTag makes the table, if there is one, and the tag.
func createTag(s *stage.Stage) {
	s.Helper()
	if tables, ok := s.Backend.(backend.Tables); ok {
		schema := mysql.Schema("")
		if u, _ := driver.ParseURL(s.Backend.URL()); u.Scheme == "postgres" {
			schema = postgres.Schema("")
		}
		tables.Exec(s, schema)
	}
	withStore(s, func(store segment.Store) error {
		return store.(segment.Creator).Create(s.Context(), segment.Tag{Name: segmentTag, Next: 1, Step: 1000})
	})
}

// taker is a process that takes numbers. In the full set it takes a million a second.
func taker(s *stage.Stage, name, query string) *worker.Worker {
	s.Helper()
	return s.Worker(name, worker.Generator{
		Name: name, URL: storeURL(s, query), Segment: segmentTag, MaxStep: int64(s.Rounds(100_000, 5000)), PerSecond: s.Rounds(1_000_000, 20_000), Goroutines: 2,
	})
}

// takers are several of them, which have taken numbers when it returns.
func takers(s *stage.Stage, n int, query string) (all []*worker.Worker) {
	s.Helper()
	for i := range n {
		all = append(all, taker(s, fmt.Sprint("taker-", i), query))
	}
	for _, w := range all {
		s.AwaitIssued(w, issuedEach)
	}
	return all
}

// inMemory is more than a process has in memory.
func inMemory(w *worker.Worker) uint64 { return 3 * uint64(w.Spec.Generators[0].MaxStep) }

// goOn waits until all have taken numbers after a moment, and then new ranges.
func goOn(s *stage.Stage, since int64, all []*worker.Worker) {
	s.Helper()
	for _, w := range all {
		s.Recovered(since, w)
	}
	for _, w := range all {
		s.AwaitIssued(w, w.Issued()+inMemory(w))
	}
}

// runSegmentsKillLoop kills processes.
func runSegmentsKillLoop(s *stage.Stage) {
	createTag(s)
	all := takers(s, segmentProcesses, "")
	for round := range s.Rounds(80, 16) {
		i := round % len(all)
		all[i].Kill()
		killed := journal.Now()
		all[i] = taker(s, fmt.Sprint("taker-", i), "")
		s.Recovered(killed, all[i])
		s.AwaitIssued(all[i], issuedEach)
	}
	for s.Issued() < s.Scenario.MinIDs {
		s.Sleep(10 * time.Millisecond)
	}
}

// runSegmentsServerKilled kills the servers, and leaves them away until everything in memory is used up, or not.
func runSegmentsServerKilled(s *stage.Stage) {
	createTag(s)
	all := takers(s, 4, "")
	for round := range s.Rounds(20, 4) {
		s.Backend.Kill(s)
		if round%2 == 0 {
			s.AwaitEventSince(all[0], journal.Now(), worker.Failed, worker.Unavailable)
		}
		s.Backend.Restart(s)
		served := journal.Now()
		goOn(s, served, all)
	}
}

// isSegmentCall matches the requests of which the outcome is not known if the reply is lost.
func isSegmentCall(request []byte) bool {
	request = bytes.ToLower(request)
	return bytes.Contains(request, []byte("leaf_alloc")) || bytes.Contains(request, []byte("commit")) || bytes.Contains(request, []byte("/unalike/segments/"))
}

// runSegmentsLostReplies loses replies, and ends processes meanwhile, which give back what they have left.
func runSegmentsLostReplies(s *stage.Stage) {
	createTag(s)
	all := takers(s, 4, "")
	p := s.Backend.Proxy()
	for round := range s.Rounds(20, 4) {
		p.LoseAcks(3+round%3, isSegmentCall)
		awaitLost(s, 2)
		i := round % len(all)
		all[i].Terminate(s)
		all[i] = taker(s, fmt.Sprint("taker-", i), "")
		s.AwaitIssued(all[i], issuedEach)
		p.Heal()
		healed := journal.Now()
		goOn(s, healed, all)
	}
	s.Logf("%d replies were lost", p.AcksLost())
}

// runSegmentsPromoted has a standby take over that lacks the last ranges.
func runSegmentsPromoted(s *stage.Stage, query string) {
	createTag(s)
	all := takers(s, 4, query)
	b := s.Backend.(backend.Replicated)
	b.Detach(s)
	for _, w := range all {
		s.AwaitIssued(w, w.Issued()+inMemory(w)) // so they have taken ranges that the standby lacks
	}
	since := journal.Now()
	b.Failover(s)
	promoted := journal.Now()
	if query == "" {
		largest := int64(0)
		for _, w := range all {
			s.AwaitEventSince(w, since, worker.Failed, worker.StoreChanged)
			largest = max(largest, int64(s.Largest(w)))
		}
		promoted = journal.Now()
		withStore(s, func(store segment.Store) error { return store.Advance(s.Context(), segmentTag, largest+10_000_000) })
	}
	all = append(all, taker(s, "newcomer", query))
	goOn(s, promoted, all)
}
