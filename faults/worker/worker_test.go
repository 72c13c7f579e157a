package worker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/worker"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

func TestMain(m *testing.M) {
	worker.Main()
	os.Exit(m.Run())
}

// timeout bounds waits that end at once on a machine that is not busy.
const timeout = time.Minute

// static returns a generator with a state file of its own.
func static(t *testing.T) worker.Generator {
	t.Helper()
	return worker.Generator{Name: "one", URL: "static://?worker=7&fresh=true&state=" +
		filepath.Join(t.TempDir(), "state"), PerSecond: 500}
}

// start starts a worker in a folder of its own.
func start(t *testing.T, clock string, generators ...worker.Generator) *worker.Worker {
	t.Helper()
	w := worker.Start(t, worker.Spec{Dir: t.TempDir(), ClockFile: clock, Generators: generators})
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(w)
		}
	})
	return w
}

// await waits for an event.
func await(t *testing.T, w *worker.Worker, kind string, cause error) (found worker.Event) {
	t.Helper()
	proctest.Eventually(t, timeout, fmt.Sprint(kind, ", ", cause), func() bool {
		all := w.Events()
		i := slices.IndexFunc(all, func(e worker.Event) bool { return e.Is(kind, cause) })
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	return found
}

// ids returns what a worker has issued, in order.
func ids(t *testing.T, w *worker.Worker) (all []core.ID) {
	t.Helper()
	for _, path := range w.Journals() {
		for run, err := range journal.Runs(path) {
			if err != nil {
				t.Fatal(err)
			}
			for i := range run.Count {
				all = append(all, run.First+core.ID(i))
			}
		}
	}
	slices.Sort(all)
	return all
}

// TestKilled: what was issued before a kill -9 is known after it.
func TestKilled(t *testing.T) {
	g := static(t)
	g.Goroutines = 3
	w := start(t, "", g)
	proctest.Eventually(t, timeout, "IDs", func() bool { return w.Issued() > 100 })
	w.Kill()
	issued, last := w.Issued(), w.Last()
	if n := len(w.Journals()); n != 3 {
		t.Errorf("there are %d journals; want one for each of 3 goroutines", n)
	}
	if all := ids(t, w); len(all) != int(issued) || len(slices.Compact(all)) != int(issued) {
		t.Errorf("the journals have %d IDs; the worker issued %d", len(all), issued)
	}
	if now := journal.Now(); last == 0 || last > now {
		t.Errorf("the last ID was issued at %d; now is %d", last, now)
	}
	if e := await(t, w, worker.Ready, nil); !slices.Equal(e.Workers, []int{7}) || !e.Healthy {
		t.Errorf("it was ready as %+v; want worker ID 7", e)
	}
}

// TestUntilClosed: goroutines that issue until they are told that the generator is closed end with
// it.
func TestUntilClosed(t *testing.T) {
	for _, perSecond := range []int{0, 500} {
		g := static(t)
		g.PerSecond, g.Goroutines, g.UntilClosed = perSecond, 3, true
		w := start(t, "", g)
		proctest.Eventually(t, timeout, "IDs", func() bool { return w.Issued() > 100 })
		if err := w.End(timeout); err != nil {
			t.Fatal(err)
		}
		if e := await(t, w, worker.Closed, nil); e.Text != "" || e.Issued != w.Issued() {
			t.Errorf("it closed with %+v; want no error and %d IDs", e, w.Issued())
		}
	}
}

// TestClockFile: the worker's clock is the machine's and the offset, and steps with it.
func TestClockFile(t *testing.T) {
	clock, err := worker.OpenClock(filepath.Join(t.TempDir(), "clock"))
	if err != nil {
		t.Fatal(err)
	}
	clock.Set(time.Hour)
	w := start(t, clock.Name(), static(t))
	proctest.Eventually(t, timeout, "IDs", func() bool { return w.Issued() > 10 })
	clock.Set(3 * time.Hour)
	times := func() (first, last time.Duration) {
		all := ids(t, w)
		at := func(id core.ID) time.Duration {
			return time.Until(core.DefaultLayout().Decompose(id).Time)
		}
		return at(all[0]), at(all[len(all)-1])
	}
	proctest.Eventually(t, timeout, "IDs of the new time", func() bool {
		_, last := times()
		return last > 2*time.Hour
	})
	if first, last := times(); first > time.Hour || first < time.Hour-timeout || last > 3*time.Hour {
		t.Errorf("the IDs' times are %v to %v from now; want 1h to 3h", first, last)
	}
	clock.Set(time.Hour)
	await(t, w, worker.Failed, core.ErrClockRollback)
	if got := clock.Offset(); got != time.Hour {
		t.Errorf("the offset is %v; want 1h", got)
	}
}

// TestDead: who ends a worker that has ended is told why it has.
func TestDead(t *testing.T) {
	w := start(t, "", worker.Generator{Name: "one", URL: "nowhere://"})
	<-w.Done()
	if err := w.End(timeout); err == nil ||
		!strings.Contains(err.Error(), `unknown scheme "nowhere"`) {
		t.Errorf("it ended with %v; want an error about the scheme", err)
	}
}
