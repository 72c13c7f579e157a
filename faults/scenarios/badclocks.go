package scenarios

import (
	"path/filepath"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

var badClocks = []stage.Scenario{{
	Number: 20, Name: "years-ahead", About: "a process whose clock is 10 years ahead starts: refused, without an ID, and no worker ID is poisoned",
	Backends: []string{"etcd", "etcd3", "redis", "zk", "zk3", "postgres", "mariadb", "kubernetes"},
	MinIDs:   3 * issuedEach, Recovery: handoverTime + busyTime, Budget: time.Minute,
	Short: &stage.Short{MinIDs: 3 * issuedEach, Budget: time.Minute, Backends: []string{"etcd", "redis"}},
	Run:   runYearsAhead,
}, {
	Number: 20, Name: "years-ahead-alone", About: "the same where nobody has a clock to compare with: it has IDs, its worker ID alone is poisoned, and nobody else minds",
	Backends: []string{"etcd", "etcd3"},
	MinIDs:   3 * issuedEach, Recovery: handoverTime + busyTime, Budget: time.Minute,
	Run: runYearsAheadAlone,
}, {
	Number: 21, Name: "bad-clock-loop", About: "a process with a wrong clock starts and crashes, a hundred times: each start is refused, and no worker ID is affected",
	Backends: []string{"etcd", "etcd3", "redis", "zk", "zk3", "postgres", "mariadb", "kubernetes"},
	MinIDs:   10_000, Recovery: handoverTime + busyTime, Budget: 2 * time.Minute,
	Run: runBadClockLoop,
}}

// tenYears is by how much a clock is wrong whose year is.
const tenYears = 10 * 365 * 24 * time.Hour

// off starts a worker with one generator, whose clock differs from that of the others.
func off(s *stage.Stage, name string, by time.Duration) *worker.Worker {
	clock, err := worker.NewClockFile(filepath.Join(s.TempDir(), "clock"))
	if err != nil {
		s.Fatal(err)
	}
	clock.Set(by)
	g := s.Generator(name)
	return s.Start(name, worker.Spec{ClockFile: clock.Path, Generators: []worker.Generator{g}})
}

// refusedFor waits until a worker is refused because its clock is wrong, and kills it then.
func refusedFor(s *stage.Stage, w *worker.Worker) {
	e := s.AwaitEvent(w, worker.Failed, worker.ClockSkew)
	s.Logf("refused: %s", e.Text)
	w.Kill()
	if n := w.Issued(); n > 0 {
		s.Errorf("process %d was refused, and has issued %d IDs", w.PID(), n)
	}
}

// stored returns what is stored of all worker IDs that were ever granted or retired.
func stored(s *stage.Stage) []coord.Slot {
	c, err := coord.Open(s.Context(), s.Backend.URL(), coord.OpenOptions{})
	if err != nil {
		s.Fatal(err)
	}
	defer c.Close() // its work is done
	all, err := c.(coord.Admin).List(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	return all
}

// affected returns the worker IDs that are poisoned, or that were granted to others than the given number of right
// holders.
func affected(s *stage.Stage, right int) (poisoned, others int) {
	all := stored(s)
	for _, slot := range all {
		if time.Until(slot.Until) > stage.Horizon+stage.SkewBound+busyTime {
			poisoned++
		}
	}
	return poisoned, len(all) - right
}

// runYearsAhead starts processes with a clock that is far ahead: before all others where the servers have a clock,
// and beside two holders.
func runYearsAhead(s *stage.Stage) {
	s.Init(s.Backend.URL(), "")
	if name := s.Backend.Name(); name != "etcd" && name != "etcd3" {
		refusedFor(s, off(s, "first", tenYears))
	}
	workers := holders(s, "one", "two")
	refusedFor(s, off(s, "ahead", tenYears))
	if poisoned, others := affected(s, len(workers)); poisoned+others > 0 {
		s.Errorf("%d worker IDs are poisoned, and %d were granted beside those of the two holders; want none", poisoned, others)
	}
	since := journal.Now()
	newcomer := s.Worker("newcomer", s.Generator("newcomer"))
	s.Recovered(since, newcomer)
	unmoved(s, append(workers, newcomer)...)
}

// runYearsAheadAlone lets the only holder have a clock that is far ahead, and then others come.
func runYearsAheadAlone(s *stage.Stage) {
	s.Init(s.Backend.URL(), "")
	ahead := off(s, "ahead", tenYears)
	had := held(s, ahead)
	s.AwaitIssued(ahead, issuedEach)
	ahead.Kill()
	since := journal.Now()
	workers := []*worker.Worker{s.Worker("one", s.Generator("one")), s.Worker("two", s.Generator("two"))}
	back(s, since, workers...)
	if poisoned, others := affected(s, len(workers)+1); poisoned != 1 || others != 0 {
		s.Errorf("%d worker IDs are poisoned, and %d others were granted; want one and none", poisoned, others)
	}
	wanted := s.Worker("wanted", wants(s, "wanted", had)) // waits for the end of the lease, and is refused then
	e := s.AwaitEvent(wanted, worker.Failed, worker.Invalid)
	s.Logf("refused: %s", e.Text)
	unmoved(s, workers...)
}

// loopSize is how many processes with wrong clocks there are at a time: etcd takes a second to refuse one.
const loopSize = 10

// runBadClockLoop starts processes with wrong clocks again and again, and kills each.
func runBadClockLoop(s *stage.Stage) {
	steps := []time.Duration{10 * time.Second, -10 * time.Second, tenYears, -stage.Horizon - 5*time.Second}
	workers := holders(s, "one", "two")
	for range s.Rounds(100, 20) / loopSize {
		var wrong []*worker.Worker
		for i := range loopSize {
			wrong = append(wrong, off(s, "wrong", steps[i%len(steps)]))
		}
		for _, w := range wrong {
			refusedFor(s, w)
		}
	}
	if poisoned, others := affected(s, len(workers)); poisoned+others > 1 {
		s.Errorf("%d worker IDs are poisoned, and %d were granted beside those of the two holders; at most one may be affected", poisoned, others)
	}
	since := journal.Now()
	newcomer := s.Worker("newcomer", s.Generator("newcomer"))
	s.Recovered(since, newcomer)
	unmoved(s, append(workers, newcomer)...)
}
