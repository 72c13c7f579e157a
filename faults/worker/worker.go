package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// logName is the file in a worker's folder that its standard error output goes to.
const logName = "worker.log"

// Worker is a worker process, seen by whoever has started it. [Worker.Issued], [Worker.Last] and
// what concerns events may be used concurrently; the methods of the process not.
type Worker struct {
	*proctest.Process
	Spec Spec

	heard listener

	mu      sync.Mutex
	readers map[string]*journal.Reader
}

// Start starts a worker, which ends with the test, and does not wait until it has done anything.
func Start(tb testing.TB, s Spec) *Worker {
	tb.Helper()
	exe, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	raw, err := json.Marshal(s)
	if err != nil {
		tb.Fatal(err)
	}
	log, err := os.Create(filepath.Join(s.Dir, logName))
	if err != nil {
		tb.Fatal(err)
	}
	defer log.Close() // the process has its own
	w := &Worker{Spec: s, readers: map[string]*journal.Reader{}}
	w.heard.changed = make(chan struct{})
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), specEnv+"="+string(raw))
	cmd.Stdout, cmd.Stderr = &w.heard, log
	w.Process = proctest.Start(tb, cmd)
	tb.Cleanup(w.closeReaders)
	return w
}

// Log returns what the process has written on its standard error output.
func (w *Worker) Log() string {
	b, err := os.ReadFile(filepath.Join(w.Spec.Dir, logName))
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(b))
}

// Events returns what the worker has told so far, in the order in which it came.
func (w *Worker) Events() []Event {
	events, _ := w.heard.all()
	return events
}

// Await waits until the worker has told an event that match accepts, and returns the first one. It
// fails if ctx ends or if the process does.
func (w *Worker) Await(ctx context.Context, match func(Event) bool) (Event, error) {
	gone := false
	for {
		events, changed := w.heard.all()
		if i := slices.IndexFunc(events, match); i >= 0 {
			return events[i], nil
		}
		if gone {
			return Event{}, fmt.Errorf("worker %d has ended: %s", w.PID(), w.Log())
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Event{}, context.Cause(ctx)
		case <-w.Done():
			gone = true // and everything that it has told was heard
		}
	}
}

// Journals returns the paths of the journals that there are, of dead processes, too.
func (w *Worker) Journals() []string {
	// the pattern is good, and it sorts
	paths, _ := filepath.Glob(filepath.Join(w.Spec.Dir, "*"+journalSuffix))
	return paths
}

// Progress returns how many IDs the journals hold, also while they are written, and when the
// newest one was written down, by journal.Now; 0: there is none.
func (w *Worker) Progress() (issued uint64, last int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, path := range w.Journals() {
		if w.readers[path] != nil {
			continue
		}
		// The verdict opens all of them again, and minds.
		if r, err := journal.Open(path); err == nil {
			w.readers[path] = r
		}
	}
	for _, r := range w.readers {
		n, at := r.Progress()
		issued, last = issued+n, max(last, at)
	}
	return issued, last
}

// Issued returns how many IDs the journals hold.
func (w *Worker) Issued() uint64 { n, _ := w.Progress(); return n }

// Last returns when the newest ID was written down; 0: there is none.
func (w *Worker) Last() int64 { _, at := w.Progress(); return at }

func (w *Worker) closeReaders() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.readers {
		_ = r.Close()
	}
	clear(w.readers)
}

// listener takes the output of a worker apart.
type listener struct {
	mu      sync.Mutex
	events  []Event
	rest    []byte        // a line that has not ended
	changed chan struct{} // closed when there is more
}

// Write implements [io.Writer]. It is called by one goroutine.
func (l *listener) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	for {
		line, rest, ok := bytes.Cut(l.rest, []byte("\n"))
		if !ok {
			break
		}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			e = Event{At: journal.Now(), Kind: Failed, Text: fmt.Sprintf("the worker printed %.200q", line)}
		}
		l.events, l.rest = append(l.events, e), rest
	}
	close(l.changed)
	l.changed = make(chan struct{})
	return len(p), nil
}

// all returns the events, and a channel that is closed when there are more.
func (l *listener) all() ([]Event, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clip(l.events), l.changed
}
