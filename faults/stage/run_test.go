package stage

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/worker"
)

func TestMain(m *testing.M) {
	worker.Main()
	os.Exit(m.Run())
}

// timeout is a budget that suffices on a busy machine.
const timeout = time.Minute

// good is a scenario that passes. It returns its worker.
func good(s *Stage) *worker.Worker {
	w := s.Worker("good", s.Generator("one"))
	s.AwaitIssued(w, fewest)
	return w
}

// run runs a scenario on the static back end.
func run(t *testing.T, sc Scenario) Result {
	t.Helper()
	sc.Name = "test"
	results, err := Run(t.Context(), Options{
		Jobs: []Job{{sc, "static"}}, Keep: t.TempDir(), Log: t.Output(),
	})
	if err != nil || len(results) != 1 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	return results[0]
}

// TestGood: a scenario that passes has its figures, and leaves nothing behind.
func TestGood(t *testing.T) {
	t.Parallel()
	var order []int
	var dir string
	var frozen *worker.Worker
	r := run(t, Scenario{Recovery: timeout, Run: func(s *Stage) {
		for i := range 3 {
			s.Cleanup(func() { order = append(order, i) })
		}
		dir = s.TempDir()
		w := good(s)
		w.Kill()
		killed := journal.Now()
		for range s.Runs(w) {
			break // the first of two journals suffices
		}
		frozen = s.Worker("next", s.Generator("two"))
		s.Recovered(killed, frozen)
		frozen.Freeze(s)
	}})
	if !r.Passed() || r.IDs < fewest || r.Duplicates != 0 || r.Recovery == 0 || r.Interruption == 0 ||
		r.Recovery < r.Interruption/2 || r.Kept != "" {
		t.Errorf("the result is %+v; want one that has passed", r)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) || !slices.Equal(order, []int{2, 1, 0}) {
		t.Errorf("the cleanups ran in the order %v; the temporary folder: %v; want none", order, err)
	}
	select {
	case <-frozen.Done():
	default:
		t.Error("the worker still runs")
	}
}

// again writes IDs of a worker down once more, as another one that has issued them would.
func again(s *Stage, first, last int) {
	w := good(s)
	w.Kill()
	runs := slices.Collect(s.Runs(w))
	out, err := journal.Create(filepath.Join(w.Spec.Dir, "again.journal"))
	if err != nil {
		s.Fatal(err)
	}
	for _, i := range []int{first, last} {
		if err := out.Add([]core.ID{runs[i].First}); err != nil {
			s.Fatal(err)
		}
	}
}

// TestBad: each mistake is found, and said in the words that somebody needs who looks for it.
func TestBad(t *testing.T) {
	t.Parallel()
	const overBudget = 3 * time.Second // that a worker has started in
	for name, c := range map[string]struct {
		sc   Scenario
		want string // an expression
	}{
		"too few IDs": {
			Scenario{Run: func(*Stage) {}},
			`^0 IDs were issued; fewer than 1000 prove nothing$`,
		},
		"slow recovery": {Scenario{Recovery: 1, Run: func(s *Stage) {
			s.Recovered(journal.Now(), good(s))
		}}, `^it took .+ until an ID was issued again; at most 1ns is allowed$`},
		"over its budget": {Scenario{Budget: overBudget, Run: func(s *Stage) {
			s.AwaitIssued(good(s), 1<<40)
		}}, `^waiting until process \d+ has issued \d+ IDs: the time budget of 3s is spent$`},
		"a duplicate": {Scenario{Run: func(s *Stage) {
			again(s, 3, 4)
		}}, `^SAFETY VIOLATION: of \d+ IDs 2 were issued twice, 0 are out of order in a goroutine, ` +
			`0 lie outside the layout$`},
		"out of order": {Scenario{Run: func(s *Stage) {
			again(s, 4, 3)
		}}, `^SAFETY VIOLATION: of \d+ IDs 2 were issued twice, 1 are out of order in a goroutine`},
		"fatal": {Scenario{Run: func(s *Stage) {
			good(s)
			s.Fatalf("something is %s", "wrong")
			s.Error("and this is not reached")
		}}, `^something is wrong$`},
		"panic": {Scenario{Run: func(s *Stage) {
			good(s)
			s.all()[99].Kill()
		}}, `^panic: runtime error: index out of range.*\n(.*\n)*.*run_test\.go`},
		"a useless worker": {Scenario{Run: func(s *Stage) {
			good(s)
			<-s.Worker("wrong", worker.Generator{Name: "wrong", URL: "nowhere://"}).Done()
		}}, `^worker \d+: worker: unalike: invalid URL: unknown scheme "nowhere"`},
		"waiting for a useless worker": {Scenario{Run: func(s *Stage) {
			good(s)
			wrong := worker.Generator{Name: "wrong", URL: "nowhere://"}
			s.AwaitEvent(s.Worker("wrong", wrong), 0, worker.Ready, nil)
		}}, `^waiting for ready, <nil>: process \d+ .* unknown scheme .*nowhere.*\) has ended$`},
		"interruption": {Scenario{Run: func(s *Stage) {
			good(s).Freeze(s)
			s.Sleep(100 * time.Millisecond)
			s.Uninterrupted(40 * time.Millisecond)
		}}, `^no ID was issued for \d+ms; at most 40ms is allowed$`},
		"a journal that cannot be read": {Scenario{Run: func(s *Stage) {
			w := good(s)
			w.Kill()
			if err := os.Symlink("nowhere", w.Journals()[0]+".journal"); err != nil {
				s.Fatal(err)
			}
		}}, `^the IDs could not be checked: .*: open .*: no such file`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, c.sc)
			if !slices.ContainsFunc(r.Failures, regexp.MustCompile(c.want).MatchString) {
				t.Fatalf("the failures are %q; want one like %s", r.Failures, c.want)
			}
			if r.Passed() || r.Kept == "" || slices.Contains(r.Failures, "and this is not reached") {
				t.Errorf("passed: %v; its journals are kept in %q; %q", r.Passed(), r.Kept, r.Failures)
			}
			if kept, _ := filepath.Glob(filepath.Join(r.Kept, "001-good", "*.journal")); len(kept) == 0 &&
				name != "too few IDs" {
				t.Errorf("there are no journals in %s", r.Kept)
			}
		})
	}
}

// TestSkipped: what cannot be run is no failure, and has not passed either.
func TestSkipped(t *testing.T) {
	t.Parallel()
	r := run(t, Scenario{Run: func(s *Stage) { s.Skipf("no %s here", "server") }})
	if r.Passed() || len(r.Failures) > 0 || r.Skipped != "no server here" {
		t.Errorf("the result is %+v; want one that was skipped", r)
	}
}

// TestParallel: as many run at a time as are to, and nothing beside one that runs alone, wherever
// it stands in the list. One that fails does not concern the others.
func TestParallel(t *testing.T) {
	t.Parallel()
	var running, most, beside atomic.Int32
	var met sync.WaitGroup
	met.Add(2) // two of them wait for each other
	o := Options{Parallel: 2, Log: t.Output()}
	for _, name := range []string{"a", "b", "alone", "bad"} {
		o.Jobs = append(o.Jobs, Job{Scenario{Name: name, Exclusive: name == "alone", Run: func(s *Stage) {
			n := running.Add(1)
			defer running.Add(-1)
			if s.Scenario.Exclusive {
				good(s)
				beside.Add(running.Load() - 1)
				return
			}
			most.Store(max(most.Load(), n))
			if name != "bad" {
				met.Done()
				met.Wait()
				most.Store(max(most.Load(), running.Load()))
			} else {
				s.Error("wrong")
			}
			good(s)
		}}, "static"})
	}
	results, err := Run(t.Context(), o)
	if err != nil || len(results) != 4 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	for _, r := range results {
		if r.Passed() == (r.Scenario == "bad") {
			t.Errorf("the result is %+v", r)
		}
	}
	if most.Load() != 2 || beside.Load() != 0 {
		t.Errorf("%d ran at a time, want 2; %d beside one that is to be alone", most.Load(),
			beside.Load())
	}
}

// TestResume: an interrupted run leaves the results of what has ended, and goes on with what has
// not passed.
func TestResume(t *testing.T) {
	t.Parallel()
	var ran []string
	fails := true
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	job := func(name string, then func(*Stage, *worker.Worker)) Job {
		return Job{Scenario{Name: name, Run: func(s *Stage) {
			ran = append(ran, name)
			then(s, good(s))
		}}, "static"}
	}
	o := Options{Results: filepath.Join(t.TempDir(), "results"), Log: t.Output(), Jobs: []Job{
		job("good", func(*Stage, *worker.Worker) {}),
		job("bad", func(s *Stage, _ *worker.Worker) {
			if fails {
				s.Error("not yet")
			}
		}),
		job("long", func(s *Stage, w *worker.Worker) {
			if fails {
				interrupt()
				s.AwaitIssued(w, 1<<40)
			}
		}),
	}}
	if _, err := Run(ctx, o); err == nil || err.Error() != "interrupted during long on static" {
		t.Errorf("the error is %v; want that it was interrupted", err)
	}
	ran, fails, o.Resume = nil, false, true
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if want := []string{"bad", "long"}; !slices.Equal(ran, want) {
		t.Errorf("%v were run; want %v", ran, want)
	}
	stored, err := ReadResults(o.Results)
	if err != nil || len(stored) != 4 {
		t.Fatalf("there are %d results, %v; want the bad one twice", len(stored), err)
	}
	var report strings.Builder
	if err := Report(&report, stored); err != nil ||
		!strings.Contains(report.String(), "3 runs, 3 passed; ") {
		t.Errorf("the report is %v\n%s", err, &report)
	}
}

// TestReport: the table has the latest results, and below it stands what has failed.
func TestReport(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var b strings.Builder
	err := Report(&b, []Result{
		{Scenario: "b", Backend: "zk", Began: began, Failures: []string{"of before"}},
		{
			Scenario: "b", Backend: "zk", Began: began, IDs: 1234567, Recovery: 1500 * time.Millisecond,
			Took: 2 * time.Minute, Commit: "c1",
		},
		{
			Scenario: "a", Backend: "etcd", Began: began, IDs: 7, Duplicates: 2, Took: time.Second,
			Commit: "c1", Failures: []string{"one\ntwo"}, Kept: "there",
		},
		{Scenario: "b", Backend: "etcd", Began: began, IDs: 1, Recovery: time.Second, Commit: "c1"},
		{Scenario: "b", Backend: "file", Began: began, Commit: "c1", Failures: []string{"late"}},
		{Scenario: "c", Backend: "etcd", Began: began, Skipped: "not here", Commit: "c1"},
	})
	const want = `| scenario | back ends | IDs issued | duplicates | ` +
		`interruption | time to recover | took | result |
|---|---|--:|--:|--:|--:|--:|---|
| a | etcd | 7 | 2 | 0s | 0s | 1s | **FAILED** |
| b | etcd file zk | 1,234,568 | 0 | 0s | 1.5s | 2m0s | **2 of 3** |
| c | etcd | 0 | 0 | 0s | 0s | 0s | not run |

5 runs, 2 passed; 1,234,575 IDs and 2 duplicates. 2026-01-02 03:04 to 03:06 UTC (2m0s); commit c1.

- a on etcd: one
  two (journals: there)
- b on file: late (journals: )
- c on etcd was not run: not here
`
	if err != nil || b.String() != want {
		t.Errorf("%v\n%s", err, &b)
	}
}

// TestLongestGap: time that was excused does not count, and the end does.
func TestLongestGap(t *testing.T) {
	for _, c := range []struct {
		at      []int64
		excused []span
		end     int64
		want    time.Duration
	}{
		{nil, nil, 100, 0},
		{[]int64{30, 10, 20}, nil, 35, 10},
		{[]int64{10, 20}, nil, 50, 30},
		{[]int64{10, 20}, []span{{25, 45}}, 50, 10},
		{[]int64{10, 50}, []span{{20, 30}, {25, 40}, {0, 12}, {60, 70}}, 50, 10},
		{[]int64{10, 50}, []span{{0, 12}, {60, 70}}, 55, 38},
		{[]int64{10, 50}, []span{{0, 100}}, 50, 0},
	} {
		if got := longestGap(slices.Clone(c.at), c.excused, c.end); got != c.want {
			t.Errorf("IDs at %v to %d, %v excused: %d; want %d", c.at, c.end, c.excused, got, c.want)
		}
	}
}

// TestSelect: names, a back end and the short set choose what is run.
func TestSelect(t *testing.T) {
	all := []Scenario{
		{Name: "a", Backends: []string{"x", "y"}, Short: []string{"y"}},
		{Name: "b", Backends: []string{"x"}},
	}
	for _, c := range []struct {
		names   []string
		backend string
		short   bool
		want    string
	}{
		{nil, "", false, "a on x, a on y, b on x"},
		{nil, "", true, "a on y"},
		{nil, "x", false, "a on x, b on x"},
		{[]string{"b"}, "", true, "b on x"},
		{[]string{"b", "a"}, "x", false, "a on x, b on x"},
		{[]string{"c"}, "", false, `no scenario has the name "c"; there are a, b`},
		{nil, "z", false, `no scenario runs on the back end "z"; there are x, y`},
		{[]string{"b"}, "y", false, `scenario b runs on x, not on "y"`},
	} {
		jobs, err := Select(all, c.names, c.backend, c.short)
		var got []string
		for _, j := range jobs {
			got = append(got, j.String())
		}
		if text := strings.Join(got, ", "); text != c.want && (err == nil || err.Error() != c.want) {
			t.Errorf("%v on %q, short %v: %s, %v; want %s", c.names, c.backend, c.short, text, err, c.want)
		}
	}
}
