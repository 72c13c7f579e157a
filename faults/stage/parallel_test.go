package stage

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// jobs returns a job for each function, with a scenario that needs no worker, named by its place: 0, 1 and so on.
func jobs(runs ...func(*Stage)) (all []Job) {
	for i, run := range runs {
		all = append(all, Job{Scenario{Name: string(rune('0' + i)), Budget: patience, Run: run}, "static"})
	}
	return all
}

// performAll runs jobs two at a time, and returns the results by the names of the scenarios.
func performAll(t *testing.T, all []Job) map[string]Result {
	t.Helper()
	var log bytes.Buffer
	results, err := Run(t.Context(), Options{Jobs: all, Parallel: 2, Log: &log})
	if err != nil || len(results) != len(all) {
		t.Fatalf("%d results, %v; want %d\n%s", len(results), err, len(all), &log)
	}
	byName := map[string]Result{}
	for _, r := range results {
		byName[r.Scenario] = r
	}
	return byName
}

// meet returns functions for two scenarios each of which waits for the other one to get there.
func meet() (one, other func(*Stage)) {
	first, second := make(chan struct{}), make(chan struct{})
	at := func(mine, theirs chan struct{}) func(*Stage) {
		return func(s *Stage) {
			close(mine)
			select {
			case <-theirs:
			case <-s.Context().Done():
				s.Fatal("nobody else is there")
			}
		}
	}
	return at(first, second), at(second, first)
}

// TestParallel: as many run at a time as are to, and no more.
func TestParallel(t *testing.T) {
	one, other := meet()
	three, four := meet()
	var running, most atomic.Int32
	counted := func(run func(*Stage)) func(*Stage) {
		return func(s *Stage) {
			n := running.Add(1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			run(s)
			running.Add(-1)
		}
	}
	for name, r := range performAll(t, jobs(counted(one), counted(other), counted(three), counted(four))) {
		if !r.Passed() {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if n := most.Load(); n != 2 {
		t.Errorf("%d ran at a time; want 2", n)
	}
}

// TestAlone: nothing begins while a scenario runs that is to be alone, and it does not begin beside others, wherever
// it stands in the list.
func TestAlone(t *testing.T) {
	const while = 100 * time.Millisecond // in which another one would begin
	var mu sync.Mutex
	var running, beside []string
	watched := func(s *Stage) {
		mu.Lock()
		running = append(running, s.Scenario.Name)
		mu.Unlock()
		s.Sleep(while)
		mu.Lock()
		defer mu.Unlock()
		if s.Scenario.Alone && len(running) > 1 {
			beside = append(beside, strings.Join(running, " "))
		}
		running = slices.DeleteFunc(running, func(name string) bool { return name == s.Scenario.Name })
		for _, name := range running {
			if name == "2" || name == "4" {
				beside = append(beside, s.Scenario.Name+" beside "+name)
			}
		}
	}
	all := jobs(watched, watched, watched, watched, watched, watched)
	all[2].Scenario.Alone, all[4].Scenario.Alone = true, true
	for name, r := range performAll(t, all) {
		if !r.Passed() {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if len(beside) > 0 {
		t.Errorf("there ran %q; 2 and 4 are to run alone", beside)
	}
}

// TestFailureBeside: a scenario that fails while another one runs is judged alone, whichever of them ends first.
func TestFailureBeside(t *testing.T) {
	for name, c := range map[string]struct {
		fail func(*Stage)
		want string
	}{
		"fatal":   {func(s *Stage) { s.Fatal("this is wrong") }, "this is wrong"},
		"panic":   {func(s *Stage) { s.all()[99].Kill() }, "panic: runtime error: index out of range"},
		"skipped": {func(s *Stage) { s.Skip("this is not here") }, "this is not here"},
	} {
		t.Run(name, func(t *testing.T) {
			one, other := meet()
			failed := make(chan struct{})
			results := performAll(t, jobs(
				func(s *Stage) { one(s); defer close(failed); good(s); c.fail(s) },
				func(s *Stage) { good(s); other(s); <-failed },
			))
			if r := results["0"]; r.Passed() || !strings.Contains(r.Skipped+strings.Join(r.Failures, ""), c.want) {
				t.Errorf("the result is %+v; want one that has not passed: %s", r, c.want)
			}
			if r := results["1"]; !r.Passed() || r.IDs < 100 {
				t.Errorf("the result beside it is %+v; want one that has passed", r)
			}
		})
	}
}

// TestInterruptedBeside: all that run are ended, nothing else begins, and all of it is run when the suite goes on. What has
// ended before is not run again.
func TestInterruptedBeside(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	one, other := meet()
	var mu sync.Mutex
	var ran []string
	again := false
	all := jobs(
		func(*Stage) {},
		func(s *Stage) {
			if !again {
				one(s)
				interrupt()
				s.Sleep(patience)
			}
		},
		func(s *Stage) {
			if !again {
				other(s)
				s.Sleep(patience)
			}
		},
		func(*Stage) {},
	)
	for i := range all {
		run := all[i].Scenario.Run
		all[i].Scenario.Run = func(s *Stage) {
			mu.Lock()
			ran = append(ran, s.Scenario.Name)
			mu.Unlock()
			run(s)
		}
	}
	o := Options{Jobs: all, Parallel: 2, Results: filepath.Join(t.TempDir(), "results"), Log: new(bytes.Buffer)}
	if _, err := Run(ctx, o); err == nil || err.Error() != "interrupted during 1 on static and 2 on static" {
		t.Errorf("the error is %v; want that both were interrupted", err)
	}
	slices.Sort(ran)
	if want := []string{"0", "1", "2"}; !slices.Equal(ran, want) {
		t.Errorf("%q were run; want %q", ran, want)
	}
	ran, again, o.Resume = nil, true, true
	results, err := Run(t.Context(), o)
	slices.Sort(ran)
	if want := []string{"1", "2", "3"}; err != nil || !slices.Equal(ran, want) || len(results) != 4 {
		t.Errorf("%d results, %v; %q were run when it went on; want %q", len(results), err, ran, want)
	}
}

// TestProgressBeside: each line says which run it is about.
func TestProgressBeside(t *testing.T) {
	var log bytes.Buffer
	one, other := meet()
	say := func(run func(*Stage)) func(*Stage) {
		return func(s *Stage) { run(s); s.Log("said here") }
	}
	if _, err := Run(t.Context(), Options{Jobs: jobs(say(one), say(other)), Parallel: 2, Log: &log}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(log.String()) {
		if strings.Count(line, " on static: ") != 1 {
			t.Errorf("the line %q is not of one run", line)
		}
	}
	for _, want := range []string{"[1/2] 0 0 on static: begins", "[2/2] 0 1 on static: begins", "0 on static: said here\n", "1 on static: said here\n", "0 on static: passed after", "1 on static: passed after"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, &log)
		}
	}
}
