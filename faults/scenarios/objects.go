package scenarios

import (
	"context"
	"slices"
	"time"

	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/history"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/proxy"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

// objects are scenarios of back ends that keep objects.
var objects = []stage.Scenario{
	lostObjects("lease-deleted", "the Lease of a worker ID that is held is deleted, and a newcomer at once", func(s *stage.Stage, o backend.Objects, workers []*worker.Worker) bool {
		o.Delete(s, o.Object(held(s, workers[0])))
		return true
	}),
	lostObjects("record-deleted", "the Lease of the namespace is deleted, and a newcomer at once", func(s *stage.Stage, o backend.Objects, _ []*worker.Worker) bool {
		o.Delete(s, o.Object(-1))
		return true
	}),
	lostObjects("leases-deleted", "all Leases are deleted", func(s *stage.Stage, o backend.Objects, _ []*worker.Worker) bool {
		o.Delete(s, o.All(s)...)
		return false
	}),
	lostObjects("cluster-namespace-deleted", "the Kubernetes namespace is deleted, and made again", func(s *stage.Stage, o backend.Objects, _ []*worker.Worker) bool {
		o.Anew(s)
		return false
	}),
	lostObjects("leases-put-back", "all Leases are deleted, and those of an older backup are applied", func(s *stage.Stage, o backend.Objects, workers []*worker.Worker) bool {
		all := o.All(s)
		backup := o.Backup(s, all...)
		renewed(s, time.Now(), workers...)
		o.Delete(s, all...)
		o.Apply(s, backup)
		return true
	}),
	{
		Number: 26, Name: "lease-edited", About: "the record in the Lease of a worker ID that is held is edited: its holder stops at the end of its window, nobody else notices, it is not overwritten, and IDs at most 2 s after it is put right",
		Backends: objectBackends,
		MinIDs:   10_000, Recovery: resumeTime, Budget: time.Minute,
		Run: runEdited,
	},
	{
		Number: 48, Name: "restored-at-full-speed", About: "the store below the API server is put back to an older copy under generators at full speed, of which one is cut off; the operator does as the runbook says, and in every second round forgets to start the API server again",
		Backends: objectBackends,
		MinIDs:   200_000_000, Recovery: tablesTime + restoreTime, Budget: 20 * time.Minute, Alone: true,
		Rules: []history.Rule{history.StateLost},
		Run:   runRestored,
	},
}

// objectBackends are the back ends that keep objects.
var objectBackends = []string{"kubernetes"}

// lostObjects returns a scenario in which something is done to objects that loses what is stored, see lostTables.
func lostObjects(name, about string, do func(*stage.Stage, backend.Objects, []*worker.Worker) (byAll bool)) stage.Scenario {
	sc := lostTables(name, about, func(s *stage.Stage, workers []*worker.Worker) bool {
		return do(s, s.Backend.(backend.Objects), workers)
	})
	sc.Backends = objectBackends
	return sc
}

// runEdited edits what is stored of a worker ID, and undoes that when its holder has stopped.
func runEdited(s *stage.Stage) {
	o := s.Backend.(backend.Objects)
	workers := holders(s, "one", "two")
	name := o.Object(held(s, workers[0]))
	began := journal.Now()
	edited := ""
	before := o.Edit(s, name, func(text string) string {
		edited = text[:len(text)/2]
		return edited
	})
	cut := journal.Now()
	newcomer := s.Worker("newcomer", s.Generator("newcomer"))
	windowEnds(s, began, cut, workers[0])
	quiet(s, quietTime, workers[0])
	if had := o.Edit(s, name, func(string) string { return before }); had != edited {
		s.Errorf("%s was edited to %q, and overwritten: %q", name, edited, had)
	}
	healed := journal.Now()
	back(s, healed, workers[0])
	s.AwaitIssued(newcomer, issuedEach)
	startedWell(s, newcomer)
	healthy(s, workers[1])
}

// restoreTime is how long it takes to restore the store, and to start the API server, beside generators at full speed.
const restoreTime = 30 * time.Second

// runRestored restores the store as often as it takes to issue enough IDs.
func runRestored(s *stage.Stage) {
	var workers []*worker.Worker
	var ways []*proxy.Proxy
	start := func(name string) {
		g, way := apart(s, name)
		g.PerSecond = 0
		if len(workers) == 0 {
			s.Init(g.URL, "")
		}
		workers, ways = append(workers, s.Worker(name, g)), append(ways, way)
	}
	start("behind")
	start("one")
	const fewest = 2 // rounds
	for n := 0; n < fewest || s.Issued() < s.Scenario.MinIDs; n++ {
		for _, w := range workers {
			s.AwaitIssued(w, w.Issued()+issuedEach)
		}
		snapshot := s.Backend.Snapshot(s)
		start("forgotten")
		forgotten := workers[len(workers)-1]
		s.AwaitIssued(forgotten, issuedEach)
		s.Sleep(stage.Horizon) // in which much is issued
		restore(s, snapshot, n%2 == 1, ways)
		s.Sleep(windowTime) // in which windows end that were open
		stood := journal.Now()
		for _, w := range workers {
			s.Recovered(stood, w)
		}
		forgotten.Kill()
		workers, ways = slices.Delete(workers, 2, 3), slices.Delete(ways, 2, 3)
		s.Logf("%d IDs were issued", s.Issued())
	}
}

// restore restores the store: first the way of the first process is cut, which goes on in its window, and then those of
// the others, until the operator has declared a quarantine that is as long as any window. One who has forgotten to start the
// API server again cannot declare any, and does so then.
func restore(s *stage.Stage, snapshot string, forgotten bool, ways []*proxy.Proxy) {
	ways[0].LoseAll()
	for _, way := range ways[1:] {
		way.Refuse()
	}
	if forgotten {
		b := s.Backend.(backend.Layered)
		b.RestoreBelow(s, snapshot)
		ctx, cancel := context.WithTimeout(s.Context(), staleTime)
		defer cancel()
		_, err := admin(s).Quarantine(ctx, time.Now().Add(stage.Horizon+stage.SkewBound))
		s.Logf("a quarantine, with an API server that goes on above what was restored: %v", err)
		b.Front().Kill()
		s.Backend.Restart(s)
	} else {
		s.Backend.Restore(s, snapshot)
	}
	raiseFloor(s, stage.Horizon+stage.SkewBound)
	for _, way := range slices.Backward(ways) {
		way.Heal()
	}
}

// staleTime is how long an operator tries to declare a quarantine at an API server whose lists are of before.
const staleTime = 5 * time.Second
