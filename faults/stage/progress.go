package stage

import (
	"fmt"
	"sync"
	"time"
)

const (
	// tellEvery is how often a run shows that it goes on, where a terminal can show that in one line.
	tellEvery = time.Second
	// printEvery is how often, where each time is a line.
	printEvery = 15 * time.Second
)

// progress shows what a job does. It is the job's log as well.
type progress struct {
	screen     *screen
	job        Job
	number, of int
	stop       func()
}

// begin shows the stage's progress until finish.
func (p *progress) begin(s *Stage) {
	p.line(fmt.Sprintf("begins, and has %v", s.Scenario.Budget))
	every, tell := printEvery, p.line
	if p.screen.columns > 0 {
		every, tell = tellEvery, func(text string) { p.screen.show(p, p.job.String()+": "+text) }
	}
	began, done := time.Now(), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-done:
				return
			case <-t.C:
				tell(fmt.Sprintf("%v of %v, %s IDs", time.Since(began).Round(time.Second), s.Scenario.Budget, grouped(s.Issued())))
			}
		}
	})
	p.stop = func() { close(done); all.Wait() }
}

// finish ends what begin has begun.
func (p *progress) finish() {
	p.stop()
	p.screen.show(p, "")
}

// line prints a line.
func (p *progress) line(text string) {
	_, _ = fmt.Fprintf(p.screen, "[%d/%d] %d %v: %s\n", p.number, p.of, p.job.Scenario.Number, p.job, text) // nobody listens then
}

// Write implements [io.Writer], for the log of the job.
func (p *progress) Write(lines []byte) (int, error) { return p.screen.Write(lines) }

// result prints how the job has ended.
func (p *progress) result(r Result) {
	outcome := "passed"
	switch {
	case len(r.Failures) > 0:
		outcome = "FAILED"
	case r.Skipped != "":
		outcome = "not run"
	}
	p.line(fmt.Sprintf("%s after %s: %s IDs, %s duplicates, interruption %s, recovery %s",
		outcome, short(r.Took), grouped(r.IDs), grouped(r.Duplicates), orNone(short(r.Interruption)), orNone(short(r.Recovery))))
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
