package stage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/file"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/worker"
)

// pollEvery is how often journals are looked at for new IDs.
const pollEvery = 2 * time.Millisecond

// Stage is one run of a scenario on one back end. It is a testing.TB, so that whatever starts servers for
// tests can start them for a scenario. Its methods are for the scenario's goroutine.
type Stage struct {
	testing.TB
	Backend  backend.Backend
	Scenario Scenario // with the sizes of this run; Run may change its limits for a back end
	Short    bool     // this is a run of the short set

	outer   context.Context // of the whole suite
	dir     string          // for journals and histories
	grace   time.Duration
	mu      sync.Mutex
	workers []*worker.Worker

	elsewhere []*worker.Worker  // of the namespace that follows
	clock     *worker.ClockFile // of all workers; nil: nobody has asked for one
	recovery  time.Duration     // the longest one
	excused   []span
	end       int64 // when Run has returned
}

// TTL is the TTL of leases on this back end.
func (s *Stage) TTL() time.Duration {
	switch s.Backend.Name() {
	case "zk", "zk3":
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

// Horizon is the longest that the back end has, up to [Horizon].
func (s *Stage) Horizon() time.Duration {
	if s.Backend.Name() == "file" {
		return file.MaxHorizon
	}
	return Horizon
}

// Generator returns the usual generator: the suite's times, the back end's URL with the given options, and an
// easy pace.
func (s *Stage) Generator(name string, options ...string) worker.Generator {
	switch s.Backend.Name() {
	case "static": // there is one clock, with which there is nothing to compare
		options = append([]string{"horizon=" + Horizon.String()}, options...)
	case "file", "embedded":
	default:
		options = append([]string{"skew=" + SkewBound.String()}, options...)
	}
	g := worker.Generator{
		Name: name, URL: s.Backend.URL(options...), TTL: s.TTL(), Horizon: s.Horizon(), PerSecond: 2000, Goroutines: 2,
	}
	if _, ok := s.Backend.(backend.Objects); ok {
		g.Patience = objectsTime
	}
	return g
}

// objectsTime is the Patience of generators where the first one makes an object for each worker ID.
const objectsTime = 3 * time.Second

// Init declares the namespace of a URL new, so that its first generator need not wait, for generators with the
// given layout; empty: the default one. Back ends that have no such thing are left alone.
func (s *Stage) Init(url, layout string) {
	s.Helper()
	l := core.DefaultLayout()
	if layout != "" {
		var err error
		if l, err = core.ParseLayout(layout); err != nil {
			s.Fatal(err)
		}
	}
	s.declare(url, l.Space())
}

// InitLong is Init, with the default layout, for generators with a state file that have a longer horizon than their
// driver allows otherwise. Where a back end has no such namespaces, it is Init, and returns false.
func (s *Stage) InitLong(url string, maxHorizon time.Duration) bool {
	s.Helper()
	space := core.DefaultLayout().Space()
	space.MaxHorizon = maxHorizon
	return s.declare(url, space)
}

// declare declares the namespace of a URL new, and returns whether with the longest horizon of the given space.
func (s *Stage) declare(url string, space coord.Space) bool {
	s.Helper()
	c, err := coord.Open(s.Context(), url, coord.OpenOptions{})
	if err != nil {
		s.Fatal(err)
	}
	defer c.Close() // its work is done
	admin, ok := c.(coord.Admin)
	if !ok {
		return false
	}
	if coord.Describe(c).Rules.MaxDeclared < space.MaxHorizon {
		space.MaxHorizon = 0
	}
	if err := admin.Init(s.Context(), space); err != nil {
		s.Fatal(err)
	}
	return space.MaxHorizon > 0
}

// Clock returns the clock of all workers that are started from now on.
func (s *Stage) Clock() *worker.ClockFile {
	s.Helper()
	if s.clock == nil {
		var err error
		if s.clock, err = worker.NewClockFile(filepath.Join(s.dir, "clock")); err != nil {
			s.Fatal(err)
		}
	}
	return s.clock
}

// Worker starts a worker with a folder of its own, and the stage's clock if it has one. Name is for messages.
func (s *Stage) Worker(name string, generators ...worker.Generator) *worker.Worker {
	s.Helper()
	spec := worker.Spec{Generators: generators}
	if s.clock != nil {
		spec.ClockFile = s.clock.Path
	}
	return s.Start(name, spec)
}

// Start starts a worker by its spec. An empty Dir is filled in. The verdict reads all of its journals.
func (s *Stage) Start(name string, spec worker.Spec) *worker.Worker {
	s.Helper()
	s.mu.Lock()
	n := len(s.workers)
	s.mu.Unlock()
	if spec.Dir == "" {
		spec.Dir = filepath.Join(s.dir, fmt.Sprintf("%03d-%s", n+1, name))
		if err := os.Mkdir(spec.Dir, 0o700); err != nil {
			s.Fatal(err)
		}
	}
	w := worker.Start(s, spec)
	s.Logf("%s is process %d", name, w.PID())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.workers = append(s.workers, w)
	return w
}

// Elsewhere says that a worker is one of a namespace that follows the one of all others: its IDs are counted with theirs, and its calls
// are looked at apart.
func (s *Stage) Elsewhere(w *worker.Worker) { s.elsewhere = append(s.elsewhere, w) }

// all returns the workers, the dead ones, too.
func (s *Stage) all() []*worker.Worker {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.workers[:len(s.workers):len(s.workers)]
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
	s.Helper()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.Context().Done():
		s.late("waiting for %v to pass", d)
	}
}

// AwaitIssued waits until the worker has issued at least n IDs.
func (s *Stage) AwaitIssued(w *worker.Worker, n uint64) {
	s.Helper()
	s.poll(func() bool { return w.Issued() >= n }, w, "waiting until process %d has issued %d IDs", w.PID(), n)
}

// AwaitEvent waits for the first event of a kind, and with a cause if that is not empty, that the worker tells.
func (s *Stage) AwaitEvent(w *worker.Worker, kind, cause string) worker.Event {
	s.Helper()
	return s.AwaitEventSince(w, 0, kind, cause)
}

// AwaitEventSince is AwaitEvent for an event that happened at or after a moment, see journal.Now.
func (s *Stage) AwaitEventSince(w *worker.Worker, since int64, kind, cause string) worker.Event {
	s.Helper()
	e, _, err := w.Await(s.Context(), 0, func(e worker.Event) bool { return e.At >= since && e.Is(kind, cause) })
	if err != nil {
		s.interrupted("waiting for %q %q of process %d: %v; it has told %+v", kind, cause, w.PID(), err, last(w.Events(), 3))
	}
	return e
}

// last returns the last n elements.
func last[T any](all []T, n int) []T { return all[max(0, len(all)-n):] }

// Recovered waits until one of the workers, or of all if none is given, has issued an ID after the moment since,
// see journal.Now, and returns how long after. The longest time of a run is its recovery, which is compared with
// what the scenario allows.
func (s *Stage) Recovered(since int64, workers ...*worker.Worker) time.Duration {
	s.Helper()
	if len(workers) == 0 {
		workers = s.all()
	}
	var at int64
	s.poll(func() bool {
		for _, w := range workers {
			if at = w.Last(); at > since {
				return true
			}
		}
		return false
	}, nil, "waiting for the first ID after a fault %v ago", time.Duration(journal.Now()-since).Round(time.Millisecond))
	took := time.Duration(at - since)
	s.Logf("the first ID was issued %v after the fault", took.Round(time.Millisecond))
	s.recovery = max(s.recovery, took)
	return took
}

// poll waits until done returns true, or fails: if the worker that it is about ends, or the stage's time is up.
func (s *Stage) poll(done func() bool, w *worker.Worker, format string, args ...any) {
	s.Helper()
	var gone <-chan struct{}
	if w != nil {
		gone = w.Done()
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-gone:
			if !done() {
				s.Fatalf("%s: the process has ended: %s", fmt.Sprintf(format, args...), w.Log())
			}
			return
		case <-s.Context().Done():
			s.late(format, args...)
		}
	}
}

// late fails the stage because its time is up, and says what it was doing.
func (s *Stage) late(format string, args ...any) {
	s.Helper()
	s.interrupted("%s: %v", fmt.Sprintf(format, args...), context.Cause(s.Context()))
}

// interrupted is Fatalf, but for an interruption from outside, which is no failure of the scenario.
func (s *Stage) interrupted(format string, args ...any) {
	s.Helper()
	if s.outer.Err() != nil {
		s.Skip(errInterrupted)
	}
	s.Fatalf(format, args...)
}
