package mutants

import (
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/scenarios"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/verdict"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// root is the root of the repository.
const root = "../.."

// demanded are the mistakes that the suite has to notice, whatever else it does. None of them may go.
var demanded = []string{
	"owner-only-compare",
	"no-max",
	"not-before-from-the-clock",
	"trim-without-close",
	"floor-from-own-horizon",
	"extension-in-place",
	"next-window-at-the-floor",
	"given-back-below-others",
	"beyond-a-run",
	"resumed-from-the-beginning",
	"given-back-after-the-release",
}

// TestAll: the list has the mutants that are demanded, each of which names a scenario and a storm that notice it in time.
// As long as they are frozen, code that was rewritten may lack the text that one of them changes.
func TestAll(t *testing.T) {
	var names []string
	for _, m := range All() {
		names = append(names, m.Name)
		if _, err := m.apply(root, t.TempDir()); err != nil {
			t.Logf("frozen, and its text is gone: %s: %v", m.Name, err)
		}
		if m.SQL == "" && !strings.Contains(m.About, "as all but Redis do") {
			t.Errorf("%s: no database notices it, and it does not say why", m.Name)
		}
		if m.Old == m.New || m.About == "" {
			t.Errorf("%s changes nothing, or does not say what it does", m.Name)
		}
		i := slices.IndexFunc(scenarios.All(), func(sc stage.Scenario) bool { return sc.Name == m.Scenario })
		if i < 0 {
			t.Errorf("%s: there is no scenario %q", m.Name, m.Scenario)
			continue
		}
		// How long it takes is for [Trial.judge]: back ends for which nothing is lost so soon have a longer budget.
		if sc := scenarios.All()[i]; !slices.Contains(sc.Backends, m.Backend) || m.SQL != "" && !slices.Contains(sc.Backends, m.SQL) {
			t.Errorf("%s: the scenario %s runs on %v, not on %s and %s", m.Name, sc.Name, sc.Backends, m.Backend, m.SQL)
		}
		alone := strings.HasPrefix(m.Scenario, "segments-") || m.Scenario == "service" || strings.HasPrefix(m.Scenario, "state-")
		if alone != (m.Storm == Storm{}) || !alone && (!slices.Contains(backend.Names(), m.Storm.Backend) || m.Storm.Seed == 0) {
			t.Errorf("%s: no storm is known that notices it, or its back end %q is not one", m.Name, m.Storm.Backend)
		}
	}
	if !slices.Equal(names, demanded) {
		t.Errorf("the mutants are %q; they have to be %q", names, demanded)
	}
}

// TestApply: a text that is not there, or not once, changes nothing.
func TestApply(t *testing.T) {
	for _, old := range []string{"no such text", "package"} {
		m := Mutant{Name: "none", File: "core/doc.go", Old: old, New: "x"}
		if _, err := m.apply(root, t.TempDir()); err == nil || !strings.Contains(err.Error(), "want once") {
			t.Errorf("%q: %v", old, err)
		}
	}
	m := Mutant{Name: "none", File: "core/none.go"}
	if _, err := m.apply(root, t.TempDir()); err == nil {
		t.Error("a file that is not there was changed")
	}
}

func TestSelect(t *testing.T) {
	for want, names := range map[string][]string{
		strings.Join(demanded, " "):               nil,
		"no-max trim-without-close":               {"trim-without-close", "no-max"},
		"there is no mutant \"x\"; there are own": {"x"},
	} {
		var got []string
		selected, err := Select(names)
		for _, m := range selected {
			got = append(got, m.Name)
		}
		if text := strings.Join(got, " "); err == nil && text != want || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %q, %v; want %q", names, text, err, want)
		}
	}
}

// TestJudge: only IDs that were or could be issued twice count.
func TestJudge(t *testing.T) {
	passed, failed := stage.Result{IDs: 1}, []string{"it failed"}
	for _, c := range []struct {
		name          string
		with, without stage.Result
		want          string // in the problem; empty: noticed
	}{
		{"duplicates", stage.Result{Failures: failed, Found: []string{verdict.Duplicate}}, passed, ""},
		{"a shared tick", stage.Result{Failures: failed, Found: []string{verdict.Range, verdict.SharedTick}}, passed, ""},
		{"an illegal history", stage.Result{Failures: failed, Found: []string{stage.IllegalHistory}}, passed, ""},
		{"a time-out", stage.Result{Failures: failed}, passed, "no duplicate"},
		{"something else", stage.Result{Failures: failed, Found: []string{verdict.Order}}, passed, "no duplicate"},
		{"nothing", passed, passed, "no duplicate"},
		{"expected duplicates", stage.Result{Found: []string{verdict.Duplicate}}, passed, "no duplicate"},
		{"not run", stage.Result{Skipped: "not installed"}, passed, "not installed"},
		{"too late", stage.Result{Failures: failed, Found: []string{verdict.Duplicate}, Took: Limit + 1}, passed, "it took 2m0s"},
		{"a scenario that fails anyway", stage.Result{Failures: failed, Found: []string{verdict.Duplicate}}, stage.Result{Failures: failed}, "does not pass: it failed"},
	} {
		o := Trial{With: c.with, Without: c.without}
		if got := o.judge(); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q; want %q", c.name, got, c.want)
		}
	}
}

func TestReport(t *testing.T) {
	var b strings.Builder
	good, bad := stage.Result{IDs: 1, Took: time.Second}, stage.Result{Failures: []string{"x"}}
	err := Report(&b, []Outcome{
		{Mutant{Name: "a"}, []Trial{
			{Run: "s on etcd", Without: good, With: stage.Result{
				Failures: []string{"x"}, Found: []string{verdict.Duplicate, verdict.SharedTick}, Duplicates: 7, Took: 1500 * time.Millisecond,
			}},
			{Run: "storm 3 on etcd", Without: good, With: stage.Result{Failures: []string{"x"}, Found: []string{stage.IllegalHistory}, Took: time.Minute}},
		}},
		{Mutant{Name: "b", About: "what it does"}, []Trial{
			{Run: "s on zk", Without: bad, Problem: "it is not so"},
			{Run: "storm 4 on zk", Problem: "nor so"},
		}},
	})
	want := `| mutant | run | found | IDs issued twice | after | without the mutant |
|---|---|---|--:|--:|---|
| a | s on etcd | duplicate, shared tick | 7 | 1.5s | passes after 1.0s |
| a | storm 3 on etcd | illegal history | 0 | 60.0s | passes after 1.0s |
| b | s on zk | **NOTHING** | 0 |  | **FAILS** |
| b | storm 4 on zk | **NOTHING** | 0 |  | not run |

2 mutants, 1 not noticed.

- b (what it does): s on zk: it is not so
  storm 4 on zk: nor so
`
	if err != nil || b.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, &b, want)
	}
}

// TestNoticed builds a mutant and runs what is to notice it: one while somebody works, and all of them in full.
func TestNoticed(t *testing.T) {
	if _, err := exec.LookPath("go"); errors.Is(err, exec.ErrNotFound) {
		t.Skip("mutants are built with the go command, which is not here")
	}
	path, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	r := &Runner{Root: path, Dir: t.TempDir()}
	if fulltest.Rounds(0, 1) == 0 {
		quick, err := Select([]string{"trim-without-close"})
		if err != nil {
			t.Fatal(err)
		}
		program, err := r.build(t.Context(), &quick[0])
		if err != nil {
			t.Fatal(err)
		}
		with, err := r.run(t.Context(), program, quick[0].args(ByScenario))
		if err != nil {
			t.Fatal(err)
		}
		if with.Skipped != "" {
			t.Skip(with.Skipped)
		}
		if !noticed(with) {
			t.Errorf("%s was not noticed; %q was found, and failed: %q", quick[0].Name, with.Found, with.Failures)
		}
		return
	}
	for _, m := range All() {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			for _, trial := range r.Try(t.Context(), m).Trials {
				if trial.Problem != "" {
					t.Errorf("%s: %s", trial.Run, trial.Problem)
				} else {
					t.Logf("%s: %q after %v; it passes without the mutant after %v", trial.Run, trial.With.Found, trial.With.Took, trial.Without.Took)
				}
			}
		})
	}
}

// TestNotBuilt: a mutant that does not build is not one that was noticed.
func TestNotBuilt(t *testing.T) {
	r := &Runner{Root: root, Dir: t.TempDir()}
	m := All()[2]
	m.Old = "no such text"
	o := r.Try(t.Context(), m)
	if len(o.Trials) != len(Ways()) {
		t.Errorf("%d trials, for %q", len(o.Trials), Ways())
	}
	m.SQL, m.Storm = "", Storm{}
	if o := r.Try(t.Context(), m); len(o.Trials) != 1 {
		t.Errorf("%d trials of one that neither a database nor a storm notices", len(o.Trials))
	}
	for _, trial := range o.Trials {
		if !strings.Contains(trial.Problem, "does not build") {
			t.Errorf("the problem is %q", trial.Problem)
		}
	}
}
