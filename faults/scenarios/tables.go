package scenarios

import (
	"fmt"
	"time"

	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/history"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

// tables are scenarios of back ends that keep tables.
var tables = []stage.Scenario{
	lostTables("truncated", "TRUNCATE of all worker IDs, and a newcomer at once", func(s *stage.Stage, _ []*worker.Worker) bool {
		truncate(s, s.Backend.(backend.Tables))
		return true
	}),
	lostTables("row-deleted", "DELETE of the row of a worker ID that is held, and a newcomer at once", func(s *stage.Stage, workers []*worker.Worker) bool {
		deleteRow(s, held(s, workers[0]))
		return true
	}),
	lostTables("dropped", "DROP of all tables", func(s *stage.Stage, _ []*worker.Worker) bool {
		exec := s.Backend.(backend.Tables).Exec
		exec(s, "DROP VIEW unalike_workers")
		exec(s, "DROP TABLE unalike_format, unalike_slots, unalike_namespaces")
		return false
	}),
	lostTables("dump-restored", "an older dump of all worker IDs is restored", func(s *stage.Stage, workers []*worker.Worker) bool {
		exec := s.Backend.(backend.Tables).Exec
		exec(s, "CREATE TABLE dump AS SELECT * FROM unalike_slots")
		for range 2 {
			renewed(s, time.Now(), workers...)
		}
		exec(s, "DELETE FROM unalike_slots", "INSERT INTO unalike_slots SELECT * FROM dump")
		return false
	}),
	{
		Number: 26, Name: "rows-locked", About: "somebody holds locks on all rows for longer than a TTL, and shorter than H-R: nobody notices",
		Backends: sqlBackends,
		MinIDs:   10_000, Budget: time.Minute,
		Run: runLocked,
	},
}

// sqlBackends are the back ends that keep tables.
var sqlBackends = []string{"postgres", "mariadb"}

// tablesTime is how long a holder may take to its next ID after rows were lost.
const tablesTime = stage.RenewalTime + longForgotten + 2*stage.SkewBound + busyTime

// lostTables returns a scenario in which something is done to the tables that loses what is stored. What does it
// reports whether a newcomer notices by itself: where all is gone, or all is older, only those notice who have seen
// more.
func lostTables(name, about string, do func(*stage.Stage, []*worker.Worker) (byAll bool)) stage.Scenario {
	return stage.Scenario{
		Number: 26, Name: name, About: about + ": a quarantine, no more and no less, and IDs after it",
		Backends: sqlBackends,
		MinIDs:   10_000, Recovery: tablesTime, Budget: 4 * time.Minute,
		Rules: []history.Rule{history.StateLost},
		Run:   func(s *stage.Stage) { runLostTables(s, do) },
	}
}

// runLostTables has rows lost.
func runLostTables(s *stage.Stage, do func(*stage.Stage, []*worker.Worker) bool) {
	workers := holders(s, "one", "two")
	began := journal.Now()
	byAll := do(s, workers)
	gone := journal.Now()
	s.Excuse(began, gone+int64(tablesTime)) // holders whose rows are gone give up their windows
	if byAll {
		workers = append(workers, s.Worker("newcomer", s.Generator("newcomer")))
		noticed(s, began, workers[:2]...)
	} else {
		noticed(s, began, workers...)
		workers = append(workers, s.Worker("newcomer", s.Generator("newcomer")))
	}
	resumed(s, began, gone, longForgotten, workers...)
	if at := firstAfter(s, workers[2], 0); at < began+int64(longForgotten) {
		s.Errorf("a newcomer has issued an ID %v after rows were lost; it has a window after %v", time.Duration(at-began), longForgotten)
	}
	s.Uninterrupted(silence)
}

// truncate deletes all rows of worker IDs.
func truncate(s *stage.Stage, b backend.Tables) { b.Exec(s, "TRUNCATE TABLE unalike_slots") }

// deleteRow deletes the row of a worker ID.
func deleteRow(s *stage.Stage, workerID int) {
	statement := fmt.Sprintf("DELETE FROM unalike_slots WHERE worker = %d", workerID)
	if n := s.Backend.(backend.Tables).Exec(s, statement); n != 1 {
		s.Errorf("%s has deleted %d rows", statement, n)
	}
}

// runLocked has holders wait for locks, at most as long as the horizon bridges.
func runLocked(s *stage.Stage) {
	workers := holders(s, "one", "two")
	for range s.Rounds(2, 1) {
		unlock := s.Backend.(backend.Tables).Lock(s)
		s.Sleep(outage)
		unlock()
		renewed(s, time.Now(), workers...)
		unmoved(s, workers...)
	}
}
