package stage

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

const (
	// tellEvery is how often a run shows that it goes on, where a terminal can show that in one line.
	tellEvery = time.Second
	// printEvery is how often, where each time is a line.
	printEvery = 15 * time.Second
)

// progress shows what a job does. It is the job's log as well.
type progress struct {
	out        io.Writer
	job        Job
	short      bool
	number, of int

	mu    sync.Mutex
	shown bool // there is a line on the terminal that is to be replaced
	stop  func()
}

// begin shows the stage's progress until finish.
func (p *progress) begin(s *Stage) {
	p.line(fmt.Sprintf("begins, and has %v", s.Scenario.Budget))
	terminal := false
	if f, ok := p.out.(*os.File); ok {
		terminal = term.IsTerminal(int(f.Fd()))
	}
	every := printEvery
	if terminal {
		every = tellEvery
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
				p.tell(fmt.Sprintf("%v of %v, %s IDs", time.Since(began).Round(time.Second), s.Scenario.Budget, grouped(s.Issued())), terminal)
			}
		}
	})
	p.stop = func() { close(done); all.Wait() }
}

// finish ends what begin has begun.
func (p *progress) finish() { p.stop() }

// name is what the lines begin with.
func (p *progress) name() string {
	return fmt.Sprintf("[%d/%d] %d %s on %s", p.number, p.of, p.job.Scenario.Number, p.job.Scenario.Name, p.job.Backend)
}

// line prints a line.
func (p *progress) line(s string) { p.tell(s, false) }

// tell shows a line, which the next one replaces if that is asked for.
func (p *progress) tell(s string, replaced bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var b bytes.Buffer
	p.erase(&b)
	fmt.Fprintf(&b, "%s: %s", p.name(), s)
	if !replaced {
		b.WriteByte('\n')
	}
	p.shown = replaced
	_, _ = p.out.Write(b.Bytes()) // nobody listens then
}

// erase takes the line away that is to be replaced.
func (p *progress) erase(b *bytes.Buffer) {
	if p.shown {
		b.WriteString("\r\033[K")
		p.shown = false
	}
}

// Write implements [io.Writer], for the log of the job.
func (p *progress) Write(line []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var b bytes.Buffer
	p.erase(&b)
	b.Write(line)
	if _, err := p.out.Write(b.Bytes()); err != nil {
		return 0, err
	}
	return len(line), nil
}

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
