package stage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/journal"
)

// graceTime is how long a scenario may take to end once its context has ended, and again once its workers are
// gone, and how long a worker may take to end in good order.
const graceTime = 5 * time.Second

var (
	// errInterrupted says that somebody has interrupted the suite.
	errInterrupted = errors.New("interrupted")
	// errEnded is why the context of a scenario ends that has ended.
	errEnded = errors.New("the scenario has ended")
)

// Options say what is run and where the results go.
type Options struct {
	// Jobs are run one after the other, see [Select].
	Jobs  []Job
	Short bool
	// Results is the path of a file that results are appended to; empty: none. With Resume, jobs that have
	// passed in it are not run again; without, what it has is overwritten.
	Results string
	Resume  bool
	// Keep is the folder in which journals and histories of failed runs are kept. It is made if it does not
	// exist.
	Keep string
	// Log is where the log goes; a terminal also gets a line with the progress.
	Log io.Writer

	grace time.Duration // 0: graceTime
}

// Job is a scenario on a back end.
type Job struct {
	Scenario Scenario
	Backend  string
}

// Run runs all jobs and returns their results, with those that were there before. A scenario that fails does not
// end it. If ctx ends, Run ends the scenario that is on, leaves its result out, and returns an error.
func Run(ctx context.Context, o Options) ([]Result, error) {
	var results []Result
	passed := map[string]bool{}
	if o.Results != "" {
		var err error
		if o.Resume {
			results, err = ReadResults(o.Results)
		} else if err = os.Remove(o.Results); errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		if err != nil {
			return nil, err
		}
	}
	for _, r := range results {
		passed[r.key()] = r.Passed()
	}
	add, err := appender(o.Results)
	if err != nil {
		return results, err
	}
	for i, job := range o.Jobs {
		p := &progress{out: o.Log, job: job, short: o.Short, number: i + 1, of: len(o.Jobs)}
		if passed[(Result{Scenario: job.Scenario.Name, Backend: job.Backend, Short: o.Short}).key()] {
			p.line("has passed before")
			continue
		}
		r := job.run(ctx, o, p)
		if ctx.Err() != nil {
			return results, fmt.Errorf("%w during %s on %s", errInterrupted, job.Scenario.Name, job.Backend)
		}
		p.result(r)
		results = append(results, r)
		if err := add(r); err != nil {
			return results, err
		}
	}
	return results, nil
}

// run runs the job.
func (j Job) run(ctx context.Context, o Options, p *progress) (r Result) {
	sc := j.Scenario.sized(o.Short)
	r = Result{Number: sc.Number, Scenario: sc.Name, Backend: j.Backend, Short: o.Short, Began: time.Now().UTC(), Expected: sc.ExpectDuplicates}
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
	t := newTB(limited, sc.Name+" on "+j.Backend, dir, p)
	s := &Stage{TB: t, Scenario: sc, Short: o.Short, outer: ctx, dir: dir, grace: cmp.Or(o.grace, graceTime)}
	p.begin(s)
	s.perform(t, j.Backend)
	s.verify(&r)
	t.cancel(errEnded)
	t.cleanup()
	p.finish()
	r.Recovery, r.Took = s.recovery, time.Since(r.Began)
	r.Failures, r.Skipped = t.outcome()
	if len(r.Failures) > 0 && o.Keep != "" {
		r.Kept = s.keep(o.Keep)
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

// keep moves the journals, histories and logs of the run into a folder below dir, and returns its name.
func (s *Stage) keep(dir string) string {
	name := fmt.Sprintf("%s-%s-%s", s.Scenario.Name, s.Backend.Name(), time.Now().UTC().Format("20060102-150405"))
	kept := filepath.Join(dir, name)
	if err := os.CopyFS(kept, os.DirFS(s.dir)); err != nil {
		s.Log("what the run has left could not be kept:", err)
		return ""
	}
	return kept
}
