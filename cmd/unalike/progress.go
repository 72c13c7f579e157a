package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progressFrom is from how much work on, in IDs or bytes, progress is worth showing.
const progressFrom = 1_000_000

// progress shows how far a run is, on a line of a terminal. The nil progress shows nothing.
type progress struct {
	out   io.Writer
	doing string
	bar   *progressbar.ProgressBar // of what is being done; nil: nothing yet
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
	return &progress{out: a.err}
}

// show shows that so much of all is done; all is -1 if it is not known. What goes wrong must not
// end the run.
func (p *progress) show(doing string, done, all int64) {
	if p == nil || all >= 0 && all < progressFrom {
		return
	}
	if doing != p.doing {
		p.finish()
		p.doing, p.bar = doing, progressbar.NewOptions64(all, progressbar.OptionSetWriter(p.out),
			progressbar.OptionSetDescription(doing), progressbar.OptionShowCount(),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionSetSpinnerChangeInterval(0)) // else it goes on by itself after the end
	}
	_ = p.bar.Set64(done)
}

// finish takes it off the screen.
func (p *progress) finish() {
	if p != nil && p.bar != nil {
		_ = p.bar.Clear()
	}
}

// isTerminal tells whether a stream is a file that a person looks at, or types into.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
