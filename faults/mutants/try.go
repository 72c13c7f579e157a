package mutants

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/verdict"
)

const (
	// Limit is how long the suite may take to notice a mutant, once it is built.
	Limit = 2 * time.Minute
	// StormLength is how long storms last. What follows has to fit into Limit as well.
	StormLength = time.Minute
	// grace is how long a run may take to end after it was interrupted.
	grace = 30 * time.Second
)

// Ways to notice a mutant.
const (
	ByScenario = "scenario"
	ByStorm    = "storm"
	BySQL      = "sql" // the scenario, on a database
)

// Ways returns all ways to notice a mutant: each mutant is to be noticed in each of them that it names.
func Ways() []string { return []string{ByScenario, ByStorm, BySQL} }

// Runner builds and runs fault suites with mutants and without. Its methods are for concurrent use.
type Runner struct {
	Root string   // of the repository
	Dir  string   // for programs and results; it exists
	Ways []string // that are tried; nil: all

	building sync.Mutex // compilers use all processors
	mu       sync.Mutex
	controls map[string]func() stage.Result // by what is run
	clean    func() (string, error)         // builds the program without a mutant
}

// Outcome is what a mutant has shown.
type Outcome struct {
	Mutant Mutant
	Trials []Trial // one for each way that the mutant names
}

// Trial is what a mutant has shown in one run.
type Trial struct {
	Run     string       // what was run
	With    stage.Result // of the run with the mutant
	Without stage.Result // and of that with the library as it is
	Problem string       // why the mutant does not count as noticed; empty: it was noticed
}

// Problem returns why the mutant does not count as noticed; empty: it was noticed in each trial.
func (o *Outcome) Problem() string {
	var all []string
	for _, t := range o.Trials {
		if t.Problem != "" {
			all = append(all, t.Run+": "+t.Problem)
		}
	}
	return strings.Join(all, "\n")
}

// Try builds a mutant and runs what is to notice it, with and without it.
func (r *Runner) Try(ctx context.Context, m Mutant) Outcome {
	o := Outcome{Mutant: m}
	ways := r.Ways
	if ways == nil {
		ways = Ways()
	}
	program, err := r.build(ctx, &m)
	for _, way := range ways {
		if !m.by(way) {
			continue
		}
		t := Trial{Run: m.run(way)}
		if err != nil {
			t.Problem = "it does not build, so it proves nothing: " + err.Error()
		} else {
			r.try(ctx, program, &m, way, &t)
		}
		o.Trials = append(o.Trials, t)
	}
	return o
}

// by reports whether a mutant is to be noticed in a way.
func (m *Mutant) by(way string) bool {
	switch way {
	case ByStorm:
		return m.Storm != Storm{}
	case BySQL:
		return m.SQL != ""
	}
	return true
}

// try makes one trial.
func (r *Runner) try(ctx context.Context, program string, m *Mutant, way string, t *Trial) {
	var err error
	if t.With, err = r.run(ctx, program, m.args(way)); err != nil {
		t.Problem = err.Error()
		return
	}
	t.Without = r.control(ctx, t.Run, m.args(way))
	t.Problem = t.judge()
}

// run says what notices the mutant in one way.
func (m *Mutant) run(way string) string {
	if way == ByStorm {
		return fmt.Sprintf("storm %d on %s", m.Storm.Seed, m.Storm.Backend)
	}
	return m.Scenario + " on " + m.backend(way)
}

// backend returns where the scenario runs.
func (m *Mutant) backend(way string) string {
	if way == BySQL {
		return m.SQL
	}
	return m.Backend
}

// args returns the arguments of the fault suite for that, but for where the result goes.
func (m *Mutant) args(way string) []string {
	if way == ByStorm {
		return []string{
			"storm", "-contended", "-backend", m.Storm.Backend,
			"-seed", strconv.FormatUint(m.Storm.Seed, 10), "-for", StormLength.String(),
		}
	}
	return []string{"run", "-short", "-backend", m.backend(way), m.Scenario}
}

// judge returns why a mutant does not count as noticed, or "".
func (t *Trial) judge() string {
	switch {
	case !t.Without.Passed():
		return fmt.Sprintf("without the mutant it does not pass: %s%s", strings.Join(t.Without.Failures, "; "), t.Without.Skipped)
	case t.With.Skipped != "":
		return "it was not run: " + t.With.Skipped
	case !noticed(t.With):
		return fmt.Sprintf("no duplicate, no shared tick and no illegal history was found; %d other failures: %s", len(t.With.Failures), strings.Join(t.With.Failures, "; "))
	case t.With.Took > Limit:
		return fmt.Sprintf("it took %v to notice it; at most %v is allowed", t.With.Took.Round(time.Second), Limit)
	}
	return ""
}

// noticed reports whether a run has failed because IDs were or could be issued twice: other failures, such as that
// something took too long, do not count.
func noticed(r stage.Result) bool {
	for _, kind := range r.Found {
		switch kind {
		case verdict.Duplicate, verdict.SharedTick, stage.IllegalHistory:
			return len(r.Failures) > 0
		}
	}
	return false
}

// control returns the result of a run without any mutant. What several mutants name is run once.
func (r *Runner) control(ctx context.Context, run string, args []string) stage.Result {
	r.mu.Lock()
	if r.controls == nil {
		r.controls = map[string]func() stage.Result{}
		r.clean = sync.OnceValues(func() (string, error) { return r.build(ctx, nil) })
	}
	if r.controls[run] == nil {
		r.controls[run] = sync.OnceValue(func() stage.Result {
			program, err := r.clean()
			if err != nil {
				return stage.Result{Failures: []string{err.Error()}}
			}
			result, err := r.run(ctx, program, args)
			if err != nil {
				result.Failures = append(result.Failures, err.Error())
			}
			return result
		})
	}
	control := r.controls[run]
	r.mu.Unlock()
	return control()
}

// build builds the fault suite with a mutant, or without if m is nil, and returns its path. What a debugger needs
// is left out: it takes longer to link than all the rest.
func (r *Runner) build(ctx context.Context, m *Mutant) (program string, err error) {
	dir, err := os.MkdirTemp(r.Dir, "build-")
	if err != nil {
		return "", err
	}
	program = filepath.Join(dir, "faults")
	args := []string{"build", "-ldflags=-s -w", "-o", program}
	if m != nil {
		overlay, err := m.apply(r.Root, dir)
		if err != nil {
			return "", err
		}
		args = append(args, "-overlay="+overlay)
	}
	r.building.Lock()
	defer r.building.Unlock()
	cmd := exec.CommandContext(ctx, "go", append(args, ".")...)
	cmd.Dir = filepath.Join(r.Root, "faults")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return program, nil
}

// run runs a program with arguments of its command and returns the result. The error is for one that did not get so
// far.
func (r *Runner) run(ctx context.Context, program string, args []string) (stage.Result, error) {
	dir, err := os.MkdirTemp(r.Dir, "run-")
	if err != nil {
		return stage.Result{}, err
	}
	results := filepath.Join(dir, "results")
	args = slices.Insert(slices.Clone(args), 1, "-results", results, "-keep", "")
	var log strings.Builder
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &log, &log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = grace
	failed := cmd.Run()
	all, err := stage.ReadResults(results)
	if err == nil && len(all) != 1 {
		err = fmt.Errorf("%d results", len(all))
	}
	if err != nil {
		return stage.Result{}, fmt.Errorf("it did not run to its end: %w\n%s", errors.Join(failed, err), log.String())
	}
	return all[0], nil
}
