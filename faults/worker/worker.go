package worker

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// Files in a worker's folder.
const (
	specName      = "spec.json"
	eventsName    = "events.jsonl" // its standard output
	logName       = "worker.log"   // its standard error output
	journalSuffix = ".journal"
)

// Worker is a worker process, seen by whoever has started it. [Worker.Issued], [Worker.Last] and
// [Worker.Events] may be used concurrently; the methods of the process not.
type Worker struct {
	*proctest.Process
	Spec Spec

	mu       sync.Mutex
	progress map[string]journal.Progress // by path
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
	spec := filepath.Join(s.Dir, specName)
	if err := os.WriteFile(spec, raw, 0o600); err != nil {
		tb.Fatal(err)
	}
	events, err := os.Create(filepath.Join(s.Dir, eventsName))
	if err != nil {
		tb.Fatal(err)
	}
	defer events.Close() // the process has its own
	log, err := os.Create(filepath.Join(s.Dir, logName))
	if err != nil {
		tb.Fatal(err)
	}
	defer log.Close()
	w := &Worker{Spec: s, progress: map[string]journal.Progress{}}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), specEnv+"="+spec)
	cmd.Stdout, cmd.Stderr = events, log
	if _, err := cmd.StdinPipe(); err != nil { // its end is the end of the worker
		tb.Fatal(err)
	}
	w.Process = proctest.Start(tb, cmd)
	return w
}

// read returns what a file in the worker's folder has, or why it cannot be read.
func (w *Worker) read(name string) string {
	b, err := os.ReadFile(filepath.Join(w.Spec.Dir, name))
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Log returns what the process has written on its standard error output.
func (w *Worker) Log() string { return strings.TrimSpace(w.read(logName)) }

// Events returns what the worker has told so far, in its order: of one that has ended, everything.
func (w *Worker) Events() (all []Event) {
	for line := range strings.Lines(w.read(eventsName)) {
		if !strings.HasSuffix(line, "\n") {
			break // it is being written
		}
		var e Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			e = Event{At: journal.Now(), Kind: Failed, Text: fmt.Sprintf("the worker printed %.200q", line)}
		}
		all = append(all, e)
	}
	return all
}

// String says which process this is, what it has told last, and what it has logged.
func (w *Worker) String() string {
	all := w.Events()
	return fmt.Sprintf("process %d (told %+v, logged %q)", w.PID(),
		all[max(0, len(all)-3):], w.Log())
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
		p := w.progress[path]
		p.Read(path) // the verdict reads all of them again, and minds
		w.progress[path] = p
		issued, last = issued+p.Issued, max(last, p.Last)
	}
	return issued, last
}

// Issued returns how many IDs the journals hold.
func (w *Worker) Issued() uint64 { n, _ := w.Progress(); return n }

// Last returns when the newest ID was written down; 0: there is none.
func (w *Worker) Last() int64 { _, at := w.Progress(); return at }
