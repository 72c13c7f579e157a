package stage

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/verdict"
	"github.com/unalike-id/unalike/faults/worker"
)

func TestMain(m *testing.M) {
	backend.Main()
	worker.Main()
	os.Exit(m.Run())
}

// patience is a budget that suffices on a busy machine.
const patience = time.Minute

// overBudget is a budget that is overrun on purpose, after a worker has started.
const overBudget = 3 * time.Second

// good is a scenario that passes. It returns its worker.
func good(s *Stage) *worker.Worker {
	w := s.Worker("good", s.Generator("one"))
	s.AwaitIssued(w, 100)
	return w
}

// scenario returns one that passes if run does nothing wrong.
func scenario(run func(*Stage)) Scenario {
	return Scenario{Number: 7, Name: "test", Backends: []string{"static"}, MinIDs: 10, Budget: patience, Run: run}
}

// perform runs a scenario on the static back end.
func perform(t *testing.T, sc Scenario) Result {
	t.Helper()
	return performWith(t, sc, patience)
}

// performWith is perform with the time that a scenario has to end once its budget is spent.
func performWith(t *testing.T, sc Scenario, grace time.Duration) Result {
	t.Helper()
	var log bytes.Buffer
	results, err := Run(t.Context(), Options{Jobs: []Job{{sc, "static"}}, Keep: t.TempDir(), Log: &log, grace: grace})
	if err != nil || len(results) != 1 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	if t.Failed() || testing.Verbose() {
		t.Log(log.String())
	}
	return results[0]
}

func TestGood(t *testing.T) {
	sc := scenario(func(s *Stage) {
		w := good(s)
		w.Kill()
		killed := journal.Now()
		w = s.Worker("next", s.Generator("two"))
		s.Recovered(killed, w)
		w.Freeze(s)
	})
	sc.Recovery = patience
	r := perform(t, sc)
	if !r.Passed() || r.IDs < 100 || r.Duplicates != 0 || r.Recovery == 0 || r.Interruption == 0 || r.Recovery < r.Interruption/2 || r.Kept != "" {
		t.Errorf("the result is %+v; want one that has passed", r)
	}
}

// TestBad: each mistake is found, and said in the words that somebody needs who looks for it.
func TestBad(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Scenario)
		run    func(*Stage)
		want   string // a regular expression
	}{
		"too few IDs": {
			change: func(sc *Scenario) { sc.MinIDs = 1_000_000 },
			run:    func(s *Stage) { good(s) },
			want:   `^\d+ IDs were issued; fewer than 1000000 prove nothing$`,
		},
		"slow recovery": {
			change: func(sc *Scenario) { sc.Recovery = 1 },
			run:    func(s *Stage) { s.Recovered(journal.Now(), good(s)) },
			want:   `^it took .+ until an ID was issued again; at most 1ns is allowed$`,
		},
		"over its budget": {
			change: func(sc *Scenario) { sc.Budget = overBudget },
			run:    func(s *Stage) { s.AwaitIssued(good(s), 1<<40) },
			want:   `^waiting until process \d+ has issued \d+ IDs: the time budget of 3s is spent$`,
		},
		"over its budget without looking": {
			change: func(sc *Scenario) { sc.Budget = overBudget },
			run:    func(s *Stage) { good(s); <-s.Context().Done() },
			want:   `^the time budget of 3s is spent$`,
		},
		"stuck": {
			change: func(sc *Scenario) { sc.Budget = overBudget },
			run:    func(s *Stage) { <-good(s).Done() },
			want:   `^the time budget of 3s is spent, and the scenario does not end$`,
		},
		"a duplicate": {
			run:  replayed,
			want: `^\d+ IDs were issued twice$`,
		},
		"no duplicate": {
			change: func(sc *Scenario) { sc.ExpectDuplicates = true },
			run:    func(s *Stage) { good(s) },
			want:   `^no ID was issued twice; the scenario shows how that happens, so a checker or the scenario is broken$`,
		},
		"fatal": {
			run:  func(s *Stage) { good(s); s.Fatalf("something is %s", "wrong"); s.Error("and this is not reached") },
			want: `^something is wrong$`,
		},
		"panic": {
			run:  func(s *Stage) { good(s); s.all()[99].Kill() },
			want: `^panic: runtime error: index out of range.*\n(.*\n)*.*run_test\.go`,
		},
		"a worker that cannot work": {
			run: func(s *Stage) {
				good(s)
				<-s.Worker("wrong", worker.Generator{Name: "wrong", URL: "nowhere://"}).Done()
			},
			want: `^worker \d+: worker: coord: invalid URL: unknown scheme "nowhere"`,
		},
		"interruption": {
			run: func(s *Stage) {
				w := good(s)
				w.Freeze(s)
				s.Sleep(50 * time.Millisecond)
				s.Uninterrupted(40 * time.Millisecond)
			},
			want: `^no ID was issued for \d+ms; at most 40ms is allowed$`,
		},
		"damaged journal": {
			run: func(s *Stage) {
				w := good(s)
				w.Kill()
				if err := os.Truncate(w.Journals()[0], 10); err != nil {
					s.Fatal(err)
				}
			},
			want: `^a journal cannot be read: .*damaged`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			sc := scenario(c.run)
			if c.change != nil {
				c.change(&sc)
			}
			grace := patience
			if name == "stuck" {
				grace = 200 * time.Millisecond
			}
			r := performWith(t, sc, grace)
			if !slices.ContainsFunc(r.Failures, regexp.MustCompile(c.want).MatchString) {
				t.Fatalf("the failures are %q; want one like %s", r.Failures, c.want)
			}
			if !regexp.MustCompile(c.want).MatchString(r.Failures[0]) && name != "a duplicate" {
				t.Errorf("the first failure is %q; want one like %s", r.Failures[0], c.want)
			}
			if found := slices.Contains(r.Found, verdict.Duplicate); found != (name == "a duplicate") {
				t.Errorf("the kinds of what was found are %q", r.Found)
			}
			if r.Passed() || r.Kept == "" {
				t.Errorf("passed: %v; its journals are kept in %q", r.Passed(), r.Kept)
			}
			if kept, _ := filepath.Glob(filepath.Join(r.Kept, "001-good", "*.journal")); len(kept) == 0 {
				t.Errorf("there are no journals in %s", r.Kept)
			}
		})
	}
}

// replayed issues the IDs of a worker twice.
func replayed(s *Stage) {
	w := good(s)
	w.Kill()
	again := s.Worker("again", worker.Generator{Name: "again", Replay: w.Journals()[0]})
	s.AwaitEvent(again, worker.Ready, "")
}

// TestExpectDuplicates: a scenario that shows duplicates passes with them, and its result says how many.
func TestExpectDuplicates(t *testing.T) {
	sc := scenario(replayed)
	sc.ExpectDuplicates = true
	if r := perform(t, sc); !r.Passed() || r.Duplicates == 0 || !r.Expected {
		t.Errorf("the result is %+v; want one that has passed, with duplicates", r)
	}
}

// TestSkipped: what cannot be run is no failure, and has not passed either.
func TestSkipped(t *testing.T) {
	r := perform(t, scenario(func(s *Stage) { s.Skipf("no %s here", "server") }))
	if r.Passed() || len(r.Failures) > 0 || r.Skipped != "no server here" {
		t.Errorf("the result is %+v; want one that was skipped", r)
	}
}

// TestCleanup: what a scenario has started is gone after it, in the opposite order.
func TestCleanup(t *testing.T) {
	var order []int
	var dir string
	var w *worker.Worker
	perform(t, scenario(func(s *Stage) {
		for i := range 3 {
			s.Cleanup(func() { order = append(order, i) })
		}
		dir = s.TempDir()
		w = good(s)
		w.Freeze(s)
		s.Fatal("over")
	}))
	if !slices.Equal(order, []int{2, 1, 0}) {
		t.Errorf("the cleanups ran in the order %v", order)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the temporary folder: %v; want none", err)
	}
	select {
	case <-w.Done():
	default:
		t.Error("the worker still runs")
	}
}

// TestResume: an interrupted run leaves the results of what has ended, and goes on with what has not passed.
func TestResume(t *testing.T) {
	var ran []string
	fails := true
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	job := func(name string, run func(*Stage)) Job {
		return Job{Scenario{Name: name, MinIDs: 10, Budget: patience, Run: func(s *Stage) { ran = append(ran, name); run(s) }}, "static"}
	}
	o := Options{Results: filepath.Join(t.TempDir(), "results"), Log: t.Output(), Jobs: []Job{
		job("good", func(s *Stage) { good(s) }),
		job("bad", func(s *Stage) {
			good(s)
			if fails {
				s.Error("not yet")
			}
		}),
		job("long", func(s *Stage) {
			w := good(s)
			if fails {
				interrupt()
				s.AwaitIssued(w, 1<<40)
			}
		}),
	}}
	if _, err := Run(ctx, o); err == nil || err.Error() != "interrupted during long on static" {
		t.Errorf("the error is %v; want that it was interrupted", err)
	}
	// As if it had been killed while it wrote a result.
	f, err := os.OpenFile(o.Results, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"scenario":"lo`); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	ran, fails, o.Resume = nil, false, true
	results, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"bad", "long"}; !slices.Equal(ran, want) {
		t.Errorf("%v were run; want %v", ran, want)
	}
	stored, err := ReadResults(o.Results)
	if err != nil || len(stored) != 4 || len(results) != 4 {
		t.Fatalf("there are %d results, %d in the file, %v; want the bad one twice", len(results), len(stored), err)
	}
	var report strings.Builder
	if err := Report(&report, stored); err != nil || !strings.Contains(report.String(), "3 runs, 0 failed, 0 not run") {
		t.Errorf("the report is %v\n%s", err, &report)
	}
}
