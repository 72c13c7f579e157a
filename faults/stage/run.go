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

	"golang.org/x/sync/semaphore"

	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/journal"
)

// graceTime is how long a scenario may take to end once its context has ended, and again once its
// workers are gone, and how long a worker may take to end in good order. Its generators take up to
// 5 s to give back what they hold.
const graceTime = 20 * time.Second

var (
	// errInterrupted says that somebody has interrupted the suite.
	errInterrupted = errors.New("interrupted")
	// errEnded is why the context of a scenario ends that has ended.
	errEnded = errors.New("the scenario has ended")
)

// Options say what is run and where the results go.
type Options struct {
	// Jobs are run in their order, those of scenarios that run alone before the others.
	Jobs     []Job
	Short    bool
	Parallel int // how many jobs are run at a time; 0: 1
	// Results is the path of a file of results; empty: none. With Resume, jobs that have passed in
	// it are not run again; without, what it has is overwritten.
	Results string
	Resume  bool
	// Keep is the folder in which journals of failed runs are kept; empty: nowhere.
	Keep   string
	Commit string // of the program, for the results; empty: nobody knows
	Log    io.Writer
}

// runner runs jobs side by side.
type runner struct {
	Options

	mu      sync.Mutex // also of the log
	results []Result
	cut     []string // jobs that were interrupted
	err     error    // why results cannot be kept
}

// Write implements [io.Writer]: each line of the log stays whole.
func (r *runner) Write(line []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Log.Write(append([]byte(time.Now().UTC().Format("15:04:05.000 ")), line...))
}

// Run runs all jobs and returns their results, with those that were there before. A scenario that
// fails does not end it. If ctx ends, Run ends the scenarios that are on, leaves their results
// out, and returns an error.
func Run(ctx context.Context, o Options) ([]Result, error) {
	r := &runner{Options: o}
	if o.Resume {
		var err error
		if r.results, err = ReadResults(o.Results); err != nil {
			return nil, err
		}
	}
	if err := write(o.Results, r.results); err != nil {
		return nil, err
	}
	r.run(ctx)
	switch {
	case r.err != nil:
		return r.results, r.err
	case len(r.cut) > 0:
		slices.Sort(r.cut)
		return r.results, fmt.Errorf("%w during %s", errInterrupted, strings.Join(r.cut, " and "))
	case ctx.Err() != nil:
		return r.results, errInterrupted
	}
	return r.results, nil
}

// run runs all jobs that have not passed before. Each needs a place, and one that runs alone all
// of them.
func (r *runner) run(ctx context.Context) {
	jobs := slices.DeleteFunc(slices.Clone(r.Jobs), func(j Job) bool {
		key := Result{Scenario: j.Scenario.Name, Backend: j.Backend, Short: r.Short}.key()
		return slices.ContainsFunc(r.results, func(before Result) bool {
			return before.key() == key && before.Passed()
		})
	})
	places := int64(max(r.Parallel, 1))
	needs := func(j Job) int64 {
		if j.Scenario.Exclusive {
			return places
		}
		return 1
	}
	slices.SortStableFunc(jobs, func(a, b Job) int { return cmp.Compare(needs(b), needs(a)) })
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	free := semaphore.NewWeighted(places)
	var all sync.WaitGroup
	defer all.Wait()
	for i, job := range jobs {
		if free.Acquire(ctx, needs(job)) != nil {
			return // it was interrupted
		}
		all.Go(func() {
			defer free.Release(needs(job))
			if !r.take(ctx, job, fmt.Sprintf("[%d/%d]", i+1, len(jobs))) {
				stop()
			}
		})
	}
}

// take runs a job and keeps its result, and reports whether it could.
func (r *runner) take(ctx context.Context, job Job, place string) bool {
	result := job.run(ctx, r, place)
	if ctx.Err() != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.cut = append(r.cut, job.String())
		return false
	}
	// nobody listens then
	_, _ = fmt.Fprintf(r, "%s %v: %s after %s: %s IDs, %s duplicates, interruption %s, recovery %s\n",
		place, job,
		result.Outcome(), short(result.Took), grouped(result.IDs), grouped(result.Duplicates),
		short(result.Interruption), short(result.Recovery))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.results = append(r.results, result)
	r.err = errors.Join(r.err, write(r.Results, r.results))
	return r.err == nil
}

// run runs the job.
func (j Job) run(ctx context.Context, r *runner, place string) (result Result) {
	sc, began := j.Scenario, time.Now()
	sc.Budget = cmp.Or(sc.Budget, usualBudget)
	result = Result{
		Scenario: sc.Name, Backend: j.Backend, Short: r.Short, Began: began.UTC().Round(0),
		Commit: r.Commit,
	}
	dir, err := os.MkdirTemp("", "unalike-faults-")
	if err != nil {
		result.Failures = []string{err.Error()}
		return result
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			result.Failures = append(result.Failures, err.Error())
		}
	}()
	limited, cancel := context.WithTimeoutCause(ctx, sc.Budget,
		fmt.Errorf("the time budget of %v is spent", sc.Budget))
	defer cancel()
	limited, end := context.WithCancelCause(limited)
	t := &tb{name: j.String(), dir: dir, log: r, ctx: limited}
	s := &Stage{TB: t, Scenario: sc, Short: r.Short, suite: ctx, dir: dir}
	t.Logf("%s begins, and has %v", place, sc.Budget)
	s.perform(t, j.Backend)
	if _, skipped := t.outcome(); skipped == "" && ctx.Err() == nil {
		<-t.run(func() { s.judge(&result) })
	}
	end(errEnded)
	t.cleanup()
	result.Recovery, result.Took = s.recovery, time.Since(began)
	result.Failures, result.Skipped = t.outcome()
	if len(result.Failures) > 0 && r.Keep != "" {
		result.Kept = filepath.Join(r.Keep,
			fmt.Sprintf("%s-%s-%s", sc.Name, j.Backend, began.UTC().Format("20060102-150405")))
		if err := os.CopyFS(result.Kept, os.DirFS(dir)); err != nil {
			t.Log("what the run has left could not be kept:", err)
		}
	}
	return result
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
		case <-time.After(graceTime):
			s.Errorf("%v, and the scenario does not end", context.Cause(s.Context()))
		}
	}
	if cause := context.Cause(s.Context()); cause != nil && s.suite.Err() == nil && !s.Failed() {
		s.Error(cause)
	}
	s.end = journal.Now()
	var all sync.WaitGroup
	for _, w := range s.all() {
		all.Go(func() {
			if err := w.End(graceTime); err != nil {
				s.Error(err)
			}
		})
	}
	all.Wait()
	select {
	case <-done:
	case <-time.After(graceTime): // whatever it waits for, it waits in vain: it is left alone
	}
}
