package stage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/journal"
)

// graceTime is how long a scenario may take to end once its context has ended, and again once its workers are
// gone, and how long a worker may take to end in good order. Its generators take up to 5 s to give back what they hold.
const graceTime = 10 * time.Second

var (
	// errInterrupted says that somebody has interrupted the suite.
	errInterrupted = errors.New("interrupted")
	// errEnded is why the context of a scenario ends that has ended.
	errEnded = errors.New("the scenario has ended")
)

// Options say what is run and where the results go.
type Options struct {
	// Jobs are run in their order, those of scenarios that run alone before the others, see [Select].
	Jobs  []Job
	Short bool
	// Parallel is how many jobs are run at a time; 0: 1.
	Parallel int
	// Results is the path of a file that results are appended to; empty: none. With Resume, jobs that have
	// passed in it are not run again; without, what it has is overwritten.
	Results string
	Resume  bool
	// Keep is the folder in which journals and histories of failed runs are kept. It is made if it does not
	// exist.
	Keep string
	// Commit is that of the program, for the results; empty: nobody knows.
	Commit string
	// Log is where the log goes; a terminal also gets a line with the progress.
	Log io.Writer

	grace time.Duration // 0: graceTime
}

// Job is a scenario on a back end.
type Job struct {
	Scenario Scenario
	Backend  string
}

func (j Job) String() string { return j.Scenario.Name + " on " + j.Backend }

// Run runs all jobs and returns their results, with those that were there before. A scenario that fails does not
// end it. If ctx ends, Run ends the scenarios that are on, leaves their results out, and returns an error.
func Run(ctx context.Context, o Options) ([]Result, error) {
	var before []Result
	if o.Results != "" {
		var err error
		if o.Resume {
			before, err = ReadResults(o.Results)
		} else if err = os.Remove(o.Results); errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		if err != nil {
			return nil, err
		}
	}
	add, err := appender(o.Results)
	if err != nil {
		return before, err
	}
	r := runner{Options: o, screen: newScreen(o.Log), add: add, results: before}
	err = r.run(ctx)
	return r.results, err
}

// runner runs jobs side by side.
type runner struct {
	Options

	screen *screen

	mu      sync.Mutex
	add     func(Result) error // keeps a result on the disk
	results []Result
	cut     []string // jobs that were interrupted
	err     error    // why results cannot be kept
}

// run runs all jobs that have not passed before. Each needs a place, and one that runs alone all of them.
func (r *runner) run(ctx context.Context) error {
	passed := map[string]bool{}
	for _, before := range r.results {
		passed[before.key()] = before.Passed()
	}
	jobs := slices.Clone(r.Jobs)
	slices.SortStableFunc(jobs, func(a, b Job) int { return cmp.Compare(b.places(2), a.places(2)) })
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	places := max(r.Parallel, 1)
	taken := make(chan struct{}, places)
	var all sync.WaitGroup
	for i, job := range jobs {
		p := &progress{screen: r.screen, job: job, number: i + 1, of: len(jobs)}
		if passed[(Result{Scenario: job.Scenario.Name, Backend: job.Backend, Short: r.Short}).key()] {
			p.line("has passed before")
			continue
		}
		for range job.places(places) {
			taken <- struct{}{}
		}
		if ctx.Err() != nil {
			break
		}
		all.Go(func() {
			if !r.take(ctx, job, p) {
				stop()
			}
			for range job.places(places) {
				<-taken
			}
		})
	}
	all.Wait()
	switch {
	case r.err != nil:
		return r.err
	case len(r.cut) > 0:
		slices.Sort(r.cut)
		return fmt.Errorf("%w during %s", errInterrupted, strings.Join(r.cut, " and "))
	case ctx.Err() != nil:
		return errInterrupted
	}
	return nil
}

// places returns how many of all places the job needs.
func (j Job) places(all int) int {
	if j.Scenario.Alone {
		return all
	}
	return 1
}

// take runs a job and keeps its result, and reports whether it could.
func (r *runner) take(ctx context.Context, job Job, p *progress) bool {
	result := job.run(ctx, r.Options, p)
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() != nil {
		r.cut = append(r.cut, job.String())
		return false
	}
	p.result(result)
	r.results = append(r.results, result)
	r.err = errors.Join(r.err, r.add(result))
	return r.err == nil
}

// run runs the job.
func (j Job) run(ctx context.Context, o Options, p *progress) (r Result) {
	sc := j.Scenario.sized(o.Short)
	began := time.Now()
	r = Result{
		Number: sc.Number, Scenario: sc.Name, Backend: j.Backend, Short: o.Short, Began: began.UTC().Round(0), Expected: sc.ExpectDuplicates,
		Commit: o.Commit, Server: backend.Version(j.Backend),
	}
	dir, err := os.MkdirTemp("", "unalike-faults-")
	if err != nil {
		r.Failures = []string{err.Error()}
		return r
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			r.Failures = append(r.Failures, err.Error())
		}
	}()
	limited, cancel := context.WithTimeoutCause(ctx, sc.Budget, fmt.Errorf("the time budget of %v is spent", sc.Budget))
	defer cancel()
	t := newTB(limited, j.String(), dir, p)
	s := &Stage{TB: t, Scenario: sc, Short: o.Short, outer: ctx, dir: dir, grace: cmp.Or(o.grace, graceTime)}
	p.begin(s)
	s.perform(t, j.Backend)
	s.verify(&r)
	t.cancel(errEnded)
	t.cleanup()
	p.finish()
	r.Recovery, r.Took = s.recovery, time.Since(began)
	r.Failures, r.Skipped = t.outcome()
	if len(r.Failures) > 0 && o.Keep != "" {
		r.Kept = s.keep(o.Keep, j.Backend)
	}
	return r
}

// perform starts the back end and runs the scenario. When it returns, the workers have ended.
func (s *Stage) perform(t *tb, name string) {
	done := t.run(func() {
		s.Backend = backend.Start(s, name)
		s.Scenario.Run(s)
	})
	select {
	case <-done:
	case <-s.Context().Done():
		select {
		case <-done:
		case <-time.After(s.grace):
			s.Errorf("%v, and the scenario does not end", context.Cause(s.Context()))
		}
	}
	if cause := context.Cause(s.Context()); cause != nil && s.outer.Err() == nil && !s.Failed() {
		s.Error(cause)
	}
	s.end = journal.Now()
	s.endWorkers()
	select {
	case <-done:
	case <-time.After(s.grace): // whatever it waits for, it waits in vain: it is left alone
	}
}

// endWorkers ends all workers, in good order as far as that is possible.
func (s *Stage) endWorkers() {
	var all sync.WaitGroup
	for _, w := range s.all() {
		all.Go(func() {
			if err := w.End(s.grace); err != nil {
				s.Error(err)
			}
		})
	}
	all.Wait()
}

// keep copies the journals, histories and logs of the run on a back end into a folder below dir, and returns its name.
func (s *Stage) keep(dir, name string) string {
	name = fmt.Sprintf("%s-%s-%s", s.Scenario.Name, name, time.Now().UTC().Format("20060102-150405"))
	kept := filepath.Join(dir, name)
	if err := os.CopyFS(kept, os.DirFS(s.dir)); err != nil {
		s.Log("what the run has left could not be kept:", err)
		return ""
	}
	return kept
}
