package stage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord/file"
	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/worker"
)

// pollEvery is how often journals are looked at for new IDs.
const pollEvery = 5 * time.Millisecond

// Stage is one run of a scenario on one back end. It is a testing.TB, so that whatever starts
// servers for tests can start them for a scenario. Its methods are for the scenario's goroutine.
type Stage struct {
	testing.TB
	Backend  *backend.Backend
	Scenario Scenario // Run may change its limits for a back end
	Short    bool     // this is a run of the short set

	suite    context.Context // of the whole suite
	dir      string          // for journals
	mu       sync.Mutex
	workers  []*worker.Worker
	recovery time.Duration // the longest one
	excused  []span
	end      int64 // when Run has returned
}

// On reports whether the back end is one of these.
func (s *Stage) On(names ...string) bool { return slices.Contains(names, s.Backend.Name) }

// TTL is the TTL of leases on this back end.
func (s *Stage) TTL() time.Duration {
	if s.On("zk", "zk3") {
		return TTLKeeper
	}
	return TTL
}

// Rounds returns full, or short in a run of the short set.
func (s *Stage) Rounds(full, short int) int {
	if s.Short {
		return short
	}
	return full
}

// objectsTime is the StartTime of generators where the first one makes an object for each worker
// ID.
const objectsTime = 3 * time.Second

// Generator returns the usual generator: the suite's times, the back end's URL with the given
// options, and an easy pace.
func (s *Stage) Generator(name string, options ...string) worker.Generator {
	return s.GeneratorOn(s.Backend, name, options...)
}

// GeneratorOn is Generator for another back end than the stage's own.
func (s *Stage) GeneratorOn(b *backend.Backend, name string, options ...string) worker.Generator {
	g := worker.Generator{Name: name, TTL: TTL, Horizon: Horizon, PerSecond: 2000, Goroutines: 2}
	usual := []string{"skew=" + SkewBound.String()}
	switch b.Name {
	case "static": // there is one clock, with which there is nothing to compare
		usual = []string{"horizon=" + Horizon.String()}
	case "file":
		g.Horizon, usual = file.MaxHorizon, nil
	case "embedded":
		usual = nil
	case "zk", "zk3":
		g.TTL = TTLKeeper
	case "kubernetes":
		g.StartTime = objectsTime
	}
	g.URL = b.URL(append(usual, options...)...)
	return g
}

// Clock returns a clock for workers.
func (s *Stage) Clock() worker.ClockFile {
	c, err := worker.OpenClock(filepath.Join(s.TempDir(), "clock"))
	if err != nil {
		s.Fatal(err)
	}
	return c
}

// Worker starts a worker. Name is for messages.
func (s *Stage) Worker(name string, generators ...worker.Generator) *worker.Worker {
	return s.Start(name, worker.Spec{Generators: generators})
}

// Start starts a worker by its spec, with a folder of its own. The verdict reads all of its
// journals.
func (s *Stage) Start(name string, spec worker.Spec) *worker.Worker {
	spec.Dir = filepath.Join(s.dir, fmt.Sprintf("%03d-%s", len(s.all())+1, name))
	if err := os.Mkdir(spec.Dir, 0o700); err != nil {
		s.Fatal(err)
	}
	w := worker.Start(s, spec)
	s.Logf("%s is process %d", name, w.PID())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.workers = append(s.workers, w)
	return w
}

// all returns the workers, the dead ones, too.
func (s *Stage) all() []*worker.Worker {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clip(s.workers)
}

// Issued returns how many IDs all workers have issued so far. It may be called at any time.
func (s *Stage) Issued() (n uint64) {
	for _, w := range s.all() {
		n += w.Issued()
	}
	return n
}

// Sleep waits for a time that the scenario needs, such as that of a fault.
func (s *Stage) Sleep(d time.Duration) {
	select {
	case <-time.After(d):
	case <-s.Context().Done():
		s.interrupted("waiting for %v to pass: %v", d, context.Cause(s.Context()))
	}
}

// AwaitIssued waits until the worker has issued at least n IDs.
func (s *Stage) AwaitIssued(w *worker.Worker, n uint64) {
	s.Until(func() bool { return w.Issued() >= n }, "process %d has issued %d IDs", w.PID(), n)
}

// AwaitMore waits until each worker has issued n more IDs.
func (s *Stage) AwaitMore(n uint64, workers ...*worker.Worker) {
	var want []uint64
	for _, w := range workers {
		want = append(want, w.Issued()+n)
	}
	for i, w := range workers {
		s.AwaitIssued(w, want[i])
	}
}

// AwaitEvent waits for the first event of a kind, and with a cause if that is not nil, that the
// worker tells and that happened at or after a moment, see journal.Now; 0: at any time.
func (s *Stage) AwaitEvent(w *worker.Worker, since int64, kind string, cause error) worker.Event {
	return s.AwaitMatch(w, fmt.Sprint(kind, ", ", cause), func(e worker.Event) bool {
		return e.At >= since && e.Is(kind, cause)
	})
}

// AwaitMatch waits for the first event that match accepts.
func (s *Stage) AwaitMatch(w *worker.Worker, what string,
	match func(worker.Event) bool,
) (found worker.Event) {
	s.Until(func() bool {
		ended, all := w.Ended(), w.Events()
		i := slices.IndexFunc(all, match)
		if i >= 0 {
			found = all[i]
		} else if ended {
			s.interrupted("waiting for %s: %v has ended", what, w)
		}
		return i >= 0
	}, "%v tells of %s", w, what)
	return found
}

// Recovered waits until each of the workers has issued an ID after now, and counts the time from
// the moment since on, see journal.Now. The longest time of a run is its recovery, which is
// compared with what the scenario allows.
func (s *Stage) Recovered(since int64, workers ...*worker.Worker) time.Duration {
	now, last := journal.Now(), since
	for _, w := range workers {
		s.Until(func() bool { return w.Last() > now }, "process %d issues an ID again", w.PID())
		last = max(last, w.Last())
	}
	return s.RecoveredIn(time.Duration(last - since))
}

// RecoveredIn says how long it took until IDs were issued again, where the scenario has measured
// that itself.
func (s *Stage) RecoveredIn(took time.Duration) time.Duration {
	s.Logf("IDs were issued again after %v", short(took))
	s.recovery = max(s.recovery, took)
	return took
}

// Until waits until done returns true. The scenario fails if its time is up.
func (s *Stage) Until(done func() bool, format string, args ...any) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-s.Context().Done():
			s.interrupted("waiting until %s: %v", fmt.Sprintf(format, args...), context.Cause(s.Context()))
		}
	}
}

// interrupted is Fatalf, but for an interruption from outside, which is no failure of the
// scenario.
func (s *Stage) interrupted(format string, args ...any) {
	if s.suite.Err() != nil {
		s.Skip(errInterrupted)
	}
	s.Fatalf(format, args...)
}
