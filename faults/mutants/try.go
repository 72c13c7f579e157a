package mutants

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	grace = 20 * time.Second
)

// Runner builds and runs fault suites with mutants and without. Its methods are for concurrent use.
type Runner struct {
	Root   string // of the repository
	Dir    string // for programs and results; it exists
	Storms bool   // storms are run, and not scenarios

	building sync.Mutex // compilers use all processors
	mu       sync.Mutex
	controls map[string]func() stage.Result // by what is run
	clean    func() (string, error)         // builds the program without a mutant
}

// Outcome is what a mutant has shown.
type Outcome struct {
	Mutant  Mutant
	Run     string       // what was run
	With    stage.Result // of the run with the mutant
	Without stage.Result // and of that with the library as it is
	Problem string       // why the mutant does not count as noticed; empty: it was noticed
}

// Try builds a mutant and runs what is to notice it, with and without it.
func (r *Runner) Try(ctx context.Context, m Mutant) Outcome {
	o := Outcome{Mutant: m, Run: m.Scenario + " on " + m.Backend}
	if r.Storms {
		o.Run = fmt.Sprintf("storm %d on %s", m.Storm.Seed, m.Storm.Backend)
		if m.Storm == (Storm{}) {
			o.Run, o.Problem = "", "no storm is known that notices it"
			return o
		}
	}
	program, err := r.build(ctx, &m)
	if err != nil {
		o.Problem = "it does not build, so it proves nothing: " + err.Error()
		return o
	}
	if o.With, err = r.run(ctx, program, &m); err != nil {
		o.Problem = err.Error()
		return o
	}
	o.Without = r.control(ctx, o.Run, &m)
	o.Problem = o.judge()
	return o
}

// judge returns why a mutant does not count as noticed, or "".
func (o *Outcome) judge() string {
	switch {
	case !o.Without.Passed():
		return fmt.Sprintf("without the mutant it does not pass: %s%s", strings.Join(o.Without.Failures, "; "), o.Without.Skipped)
	case o.With.Skipped != "":
		return "it was not run: " + o.With.Skipped
	case !noticed(o.With):
		return fmt.Sprintf("no duplicate, no shared tick and no illegal history was found; %d other failures: %s", len(o.With.Failures), strings.Join(o.With.Failures, "; "))
	case o.With.Took > Limit:
		return fmt.Sprintf("it took %v to notice it; at most %v is allowed", o.With.Took.Round(time.Second), Limit)
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
func (r *Runner) control(ctx context.Context, run string, m *Mutant) stage.Result {
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
			result, err := r.run(ctx, program, m)
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

// run runs what is to notice a mutant with a program, and returns the result. The error is for a program that did
// not get so far.
func (r *Runner) run(ctx context.Context, program string, m *Mutant) (stage.Result, error) {
	dir, err := os.MkdirTemp(r.Dir, "run-")
	if err != nil {
		return stage.Result{}, err
	}
	results := filepath.Join(dir, "results")
	args := []string{"run", "-short", "-results", results, "-keep", "", "-backend", m.Backend, m.Scenario}
	if r.Storms {
		args = []string{
			"storm", "-contended", "-results", results, "-keep", "", "-backend", m.Storm.Backend,
			"-seed", strconv.FormatUint(m.Storm.Seed, 10), "-for", StormLength.String(),
		}
	}
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
