package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

const (
	// progressAfter is how long a run takes whose progress is worth showing.
	progressAfter = 200 * time.Millisecond
	// progressEvery is how often it is drawn.
	progressEvery = 100 * time.Millisecond
)

// progress draws how far a run is, on a line of a terminal. The nil progress draws nothing.
type progress struct {
	out   io.Writer
	next  time.Time // when it is drawn the next time
	drawn bool
}

// newProgress returns nil where nobody watches, and where other is a terminal too, which may be the
// same one.
func (a *app) newProgress(other any) *progress {
	if !isTerminal(a.err) || isTerminal(other) {
		return nil
	}
	if kind, _ := a.lookupEnv("TERM"); kind == "dumb" {
		return nil
	}
	return &progress{out: a.err, next: time.Now().Add(progressAfter)}
}

// show draws that so much of all is done; all is negative if it is not known. What goes wrong must
// not end the run.
func (p *progress) show(doing string, done, all int64) {
	if p == nil || time.Now().Before(p.next) {
		return
	}
	p.next, p.drawn = time.Now().Add(progressEvery), true
	part := ""
	if all > 0 {
		part = fmt.Sprintf(", %d %%", int(float64(done)/float64(all)*100))
	}
	_, _ = fmt.Fprintf(p.out, "\r%s: %s%s\x1b[K", doing, group(fmt.Sprint(done)), part)
}

// finish takes it off the screen.
func (p *progress) finish() {
	if p != nil && p.drawn {
		_, _ = io.WriteString(p.out, "\r\x1b[K")
	}
}

// isTerminal tells whether a stream is a file that a person looks at, or types into.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
