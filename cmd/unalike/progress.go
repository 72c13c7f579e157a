package main

import (
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progressAfter is from how many IDs on progress is worth showing: about a quarter
// of a second at the default layout.
const progressAfter = 1_000_000

// progress shows how far a run is. The nil progress shows nothing.
type progress struct{ bar *progressbar.ProgressBar }

// newProgress returns a progress for count IDs: nil for a short run, where nobody
// watches, or where the IDs themselves run over the same terminal.
func (a *app) newProgress(count int64) *progress {
	if count < progressAfter || !a.canDraw() || isTerminal(a.out) {
		return nil
	}
	return a.bar(count, "generating", progressbar.OptionShowCount(), progressbar.OptionShowIts(),
		progressbar.OptionSetItsString("IDs"))
}

// bar returns a progress up to all, negative if that is unknown, which is shown until it is
// finished.
func (a *app) bar(all int64, doing string, options ...progressbar.Option) *progress {
	return &progress{progressbar.NewOptions64(all, append(options,
		progressbar.OptionSetWriter(a.err),
		progressbar.OptionSetDescription(doing),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)...)}
}

// add counts n more IDs.
func (p *progress) add(n int) {
	if p != nil {
		_ = p.bar.Add(n) // a progress that cannot be shown must not end the run
	}
}

// set says that n are done.
func (p *progress) set(n int64) {
	if p != nil {
		_ = p.bar.Set64(n) // as in add
	}
}

// finish takes the bar off the screen.
func (p *progress) finish() {
	if p != nil {
		_ = p.bar.Exit()
	}
}

// canDraw reports whether the standard error output is a terminal on which a line can be
// drawn again.
func (a *app) canDraw() bool {
	if !isTerminal(a.err) {
		return false
	}
	kind, _ := a.lookupEnv("TERM")
	return kind != "dumb"
}

// isTerminal tells whether a stream is a file that a person looks at, or types into.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
