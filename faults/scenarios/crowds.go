package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

var crowds = []stage.Scenario{{
	Number: 22, Name: "crowd", About: "1024 generators start at once in 16 processes: each has a worker ID of its own within 10 s",
	Backends: crowdBackends,
	MinIDs:   1024, Recovery: crowdTime, Budget: 2 * time.Minute, Alone: true,
	Short: &stage.Short{MinIDs: 128, Budget: time.Minute, Backends: []string{"etcd", "redis"}},
	Run: func(s *stage.Stage) {
		allowObjects(s)
		crowd(s, "crowd")
	},
}, {
	Number: 23, Name: "one-too-many", About: "one more generator than there are worker IDs: refused within 2 s, with the time when the next one is free",
	Backends: crowdBackends,
	MinIDs:   1024, Recovery: crowdTime, Budget: 2 * time.Minute, Alone: true,
	Short: &stage.Short{MinIDs: 128, Budget: time.Minute, Backends: []string{"redis"}},
	Run:   runOneTooMany,
}, {
	Number: 24, Name: "crowd-killed", About: "kill -9 of 1024 generators, which start again at once: all are back when the leases and windows of the dead have ended, and 10 s later at the latest",
	// Without an embedded etcd: opening its folder fails while a thousand others keep its server from answering in time.
	Backends: slices.DeleteFunc(slices.Clone(crowdBackends), func(name string) bool { return name == "embedded" }),
	MinIDs:   2048, Recovery: crowdLease + crowdTime, Budget: 3 * time.Minute, Alone: true,
	Short: &stage.Short{MinIDs: 256, Budget: time.Minute, Backends: []string{"redis"}},
	Run:   runCrowdKilled,
}}

var crowdBackends = []string{"etcd", "etcd3", "embedded", "redis", "sentinel", "cluster", "zk", "zk3", "postgres", "mariadb", "kubernetes"}

const (
	// crowdProcesses is how many processes the generators of a crowd live in.
	crowdProcesses = 16
	// crowdLease is the TTL and the horizon of a crowd, the library's default TTL: 1024 holders renew 205 times a second
	// then. With the suite's 3 s it would be 1024 times, more than an etcd does on two processors that it shares with all
	// of its clients.
	crowdLease = coord.DefaultTTL
	// crowdTime is how long a crowd may take until each generator has issued an ID: 10 s, and what a busy machine needs.
	// The servers share two processors with 1024 clients here, of which each has a connection of its own, or with a
	// database a process has some, and maybe with other work. Those that find every worker ID held keep looking, which keeps the servers busy, too: ZooKeeper has
	// taken 27 s longer than the leases of the dead. So that allowance is larger than [busyTime].
	crowdTime = 10*time.Second + 30*time.Second
	// refusalTime is how long it may take until a generator is told that there is no worker ID for it.
	refusalTime = 2*time.Second + busyTime
)

// crowdSize is how many generators a crowd has.
func crowdSize(s *stage.Stage) int { return s.Rounds(1024, 128) }

// crowdPatience is how long each start of a crowd goes on; 0: as long as others. In Kubernetes those wait that do not make the
// worker IDs, and one that makes some and gives up leaves the others waiting for 8 s.
func crowdPatience(s *stage.Stage) time.Duration {
	if _, ok := s.Backend.(backend.Objects); ok {
		return crowdTime
	}
	return 0
}

// allowObjects gives a crowd in Kubernetes the 30 s that are promised there, and not 10 s: an object is made for each.
func allowObjects(s *stage.Stage) {
	if _, ok := s.Backend.(backend.Objects); ok {
		s.Scenario.Recovery += 20 * time.Second
	}
}

// crowd starts as many generators as there are worker IDs for them, and waits until each issues.
func crowd(s *stage.Stage, name string) []*worker.Worker {
	began := journal.Now()
	var workers []*worker.Worker
	for p := range crowdProcesses {
		var all []worker.Generator
		for i := range crowdSize(s) / crowdProcesses {
			g := s.Generator(fmt.Sprintf("%s-%d-%d", name, p, i))
			g.Count, g.PerSecond, g.Goroutines = crowdSize(s), 4, 1
			g.TTL, g.Horizon, g.Patience = crowdLease, crowdLease, crowdPatience(s)
			all = append(all, g)
		}
		workers = append(workers, s.Start(name, worker.Spec{OnePool: true, Generators: all}))
	}
	seated(s, began, workers)
	issuing(s, began, workers)
	return workers
}

// seated waits until each generator has a worker ID, and fails the stage if two of them have the same one.
func seated(s *stage.Stage, since int64, workers []*worker.Worker) {
	owners := map[int]string{}
	last := since
	for _, w := range workers {
		next := 0
		for range w.Spec.Generators {
			e, after, err := w.Await(s.Context(), next, func(e worker.Event) bool { return e.Kind == worker.Ready })
			if err != nil {
				s.Fatalf("waiting for %d generators of process %d: %v", len(w.Spec.Generators), w.PID(), err)
			}
			next, last = after, max(last, e.At)
			if id := e.Workers[0]; owners[id] != "" {
				s.Errorf("worker ID %d belongs to generators %s and %s", id, owners[id], e.Generator)
			} else {
				owners[id] = e.Generator
			}
		}
	}
	s.Logf("%d generators have a worker ID after %v", len(owners), time.Duration(last-since).Round(time.Millisecond))
}

// issuing waits until each generator has issued an ID. The last one's is what the scenario's bound is about.
func issuing(s *stage.Stage, since int64, workers []*worker.Worker) {
	last := since
	for _, w := range workers {
		for _, path := range w.Journals() {
			last = max(last, firstIn(s, path))
		}
	}
	s.RecoveredIn(time.Duration(last - since))
}

// firstIn waits until a journal has an ID, and returns when that was written down.
func firstIn(s *stage.Stage, path string) int64 {
	for {
		r, err := journal.Open(path)
		if err != nil {
			s.Fatal(err)
		}
		var at int64
		for run := range r.Runs() {
			at = run.From
			break
		}
		_ = r.Close() // it was only read
		if at != 0 {
			return at
		}
		s.Sleep(10 * time.Millisecond)
	}
}

// runOneTooMany starts a generator for which there is no worker ID.
func runOneTooMany(s *stage.Stage) {
	allowObjects(s)
	crowd(s, "crowd")
	began := journal.Now()
	g := s.Generator("late")
	g.Count, g.TTL, g.Horizon, g.Patience = crowdSize(s), crowdLease, crowdLease, 0
	late := s.Worker("late", g)
	e := s.AwaitEvent(late, worker.Failed, worker.NoWorkerID)
	s.Logf("refused after %v: %s", time.Duration(e.At-began).Round(time.Millisecond), e.Text)
	if took := time.Duration(e.At - began); took > refusalTime {
		s.Errorf("it took %v to refuse a generator; at most %v is allowed", took, refusalTime)
	}
	if !strings.Contains(e.Text, "the next is free at") {
		s.Errorf("the refusal does not say when the next worker ID is free: %s", e.Text)
	}
	late.Kill()
	if n := late.Issued(); n > 0 {
		s.Errorf("a generator without a worker ID has issued %d IDs", n)
	}
}

// runCrowdKilled kills a whole crowd, and starts it again.
func runCrowdKilled(s *stage.Stage) {
	allowObjects(s)
	workers := crowd(s, "first")
	for _, w := range slices.Backward(workers) {
		w.Kill()
	}
	crowd(s, "second")
}
