package scenarios

import (
	"time"

	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/history"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

var deleted = []stage.Scenario{
	deletion("flushed", "FLUSHALL", []string{"redis", "sentinel", "cluster"}, func(s *stage.Stage, _ *redistest.Server) {
		s.Backend.(backend.Flusher).Flush(s)
	}),
	deletion("deleted", "DEL of the namespace", []string{"redis", "cluster"}, func(s *stage.Stage, r *redistest.Server) {
		if n := r.Do(s, "DEL", slotsKey); n != "1" {
			s.Errorf("DEL %s has deleted %s keys", slotsKey, n)
		}
	}),
	deletion("evicted", "eviction of everything by a server that may", []string{"redis", "cluster"}, evict),
}

// slotsKey is where Redis keeps the namespace of the suite.
const slotsKey = "{" + backend.Namespace + "}:slots"

// deletion returns a scenario in which Redis loses everything and goes on.
func deletion(name, about string, backends []string, do func(*stage.Stage, *redistest.Server)) stage.Scenario {
	return stage.Scenario{
		Number: 26, Name: name, About: about + ": a quarantine, no more and no less, and IDs after it; holders go to the end of their windows",
		Backends: backends,
		MinIDs:   10_000, Recovery: quarantineTime, Budget: 90 * time.Second,
		Rules: []history.Rule{history.StateLost},
		Run:   func(s *stage.Stage) { runDeleted(s, do) },
	}
}

// runDeleted has everything deleted.
func runDeleted(s *stage.Stage, do func(*stage.Stage, *redistest.Server)) {
	workers := holders(s, "one", "two")
	began := journal.Now()
	do(s, serverOf(s))
	gone := journal.Now()
	newcomer := s.Worker("newcomer", s.Generator("newcomer"))
	s.Excuse(began+int64(stage.Horizon-stage.RenewalTime-busyTime), gone+int64(quarantineTime))
	noticed(s, began, workers...)
	resumed(s, began, gone, forgottenTime, append(workers, newcomer)...)
	if at := firstAfter(s, newcomer, 0); at < began+int64(forgottenTime) {
		s.Errorf("a newcomer has issued an ID %v after everything was deleted; it has a window after %v", time.Duration(at-began), forgottenTime)
	}
	s.Uninterrupted(silence)
}

// serverOf returns the Redis server that has the suite's namespace.
func serverOf(s *stage.Stage) *redistest.Server {
	switch b := s.Backend.(type) {
	case backend.Sharded:
		return b.Owner(s, backend.Namespace).(*redistest.Server)
	case backend.Elected:
		return b.Leader(s).(*redistest.Server)
	}
	return s.Backend.Servers()[0].(*redistest.Server)
}

// evict lets a server throw everything away.
func evict(s *stage.Stage, r *redistest.Server) {
	r.Do(s, "CONFIG", "SET", "maxmemory-policy", "allkeys-random", "maxmemory", "1")
	for began := time.Now(); r.Do(s, "EXISTS", slotsKey) != "0"; s.Sleep(5 * time.Millisecond) {
		if time.Since(began) > stage.Horizon {
			s.Fatalf("the server has not evicted %s within %v", slotsKey, stage.Horizon)
		}
	}
	r.Do(s, "CONFIG", "SET", "maxmemory", "0", "maxmemory-policy", "noeviction")
}
