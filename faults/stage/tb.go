package stage

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// tb is a testing.TB outside of a test, so that what starts servers for tests serves a program as well. Its
// methods do what those of a testing.T do. What a TB has beyond them is not there, and would panic: the embedded
// interface is nil.
type tb struct {
	testing.TB
	name   string
	dir    string // for temporary folders
	log    io.Writer
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu       sync.Mutex
	cleanups []func()
	closed   bool // the cleanups have been run
	failures []string
	failed   bool
	skipped  string
	temps    int
}

// newTB returns a TB that logs to log and whose context ends with ctx.
func newTB(ctx context.Context, name, dir string, log io.Writer) *tb {
	t := &tb{name: name, dir: dir, log: log}
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	return t
}

// run runs f in a goroutine of its own, which Fatal and Skip end, and closes the result when it has ended. A
// panic is a failure.
func (t *tb) run(f func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if r := recover(); r != nil {
				t.Errorf("panic: %v\n%s", r, debug.Stack())
			}
		}()
		f()
	}()
	return done
}

// cleanup runs what Cleanup was given, the last one first. What is given to it later is run at once.
func (t *tb) cleanup() {
	for {
		t.mu.Lock()
		n := len(t.cleanups)
		if n == 0 {
			t.closed = true
			t.mu.Unlock()
			return
		}
		f := t.cleanups[n-1]
		t.cleanups = t.cleanups[:n-1]
		t.mu.Unlock()
		<-t.run(f)
	}
}

// Cleanup implements [testing.TB].
func (t *tb) Cleanup(f func()) {
	t.mu.Lock()
	closed := t.closed
	if !closed {
		t.cleanups = append(t.cleanups, f)
	}
	t.mu.Unlock()
	if closed {
		f()
	}
}

// Name implements [testing.TB].
func (t *tb) Name() string { return t.name }

// Helper implements [testing.TB].
func (t *tb) Helper() {}

// Context implements [testing.TB]: it ends before the cleanups run, and when the scenario's budget is spent.
func (t *tb) Context() context.Context { return t.ctx }

// Log implements [testing.TB].
func (t *tb) Log(args ...any) { t.print(fmt.Sprintln(args...)) }

// Logf implements [testing.TB].
func (t *tb) Logf(format string, args ...any) { t.print(fmt.Sprintf(format, args...)) }

func (t *tb) print(s string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = fmt.Fprintf(t.log, "%s  %s: %s\n", time.Now().UTC().Format("15:04:05.000"), t.name, strings.TrimSuffix(s, "\n"))
}

// Error implements [testing.TB].
func (t *tb) Error(args ...any) { t.fail(fmt.Sprintln(args...)) }

// Errorf implements [testing.TB].
func (t *tb) Errorf(format string, args ...any) { t.fail(fmt.Sprintf(format, args...)) }

// Fatal implements [testing.TB].
func (t *tb) Fatal(args ...any) {
	t.fail(fmt.Sprintln(args...))
	runtime.Goexit()
}

// Fatalf implements [testing.TB].
func (t *tb) Fatalf(format string, args ...any) {
	t.fail(fmt.Sprintf(format, args...))
	runtime.Goexit()
}

func (t *tb) fail(s string) {
	s = strings.TrimSuffix(s, "\n")
	t.print("FAILED: " + s)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed, t.failures = true, append(t.failures, s)
}

// Fail implements [testing.TB].
func (t *tb) Fail() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed = true
}

// FailNow implements [testing.TB].
func (t *tb) FailNow() {
	t.Fail()
	runtime.Goexit()
}

// Failed implements [testing.TB].
func (t *tb) Failed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}

// Skip implements [testing.TB].
func (t *tb) Skip(args ...any) { t.skip(fmt.Sprintln(args...)) }

// Skipf implements [testing.TB].
func (t *tb) Skipf(format string, args ...any) { t.skip(fmt.Sprintf(format, args...)) }

// SkipNow implements [testing.TB].
func (t *tb) SkipNow() { t.skip("without a reason") }

// Skipped implements [testing.TB].
func (t *tb) Skipped() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.skipped != ""
}

func (t *tb) skip(s string) {
	s = strings.TrimSuffix(s, "\n")
	t.print(s)
	t.mu.Lock()
	t.skipped = s
	t.mu.Unlock()
	runtime.Goexit()
}

// TempDir implements [testing.TB].
func (t *tb) TempDir() string {
	t.mu.Lock()
	t.temps++
	dir := filepath.Join(t.dir, fmt.Sprintf("tmp%03d", t.temps))
	t.mu.Unlock()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("removing a temporary folder: %v", err)
		}
	})
	return dir
}

// Setenv implements [testing.TB].
func (t *tb) Setenv(key, value string) {
	old, was := os.LookupEnv(key)
	if err := os.Setenv(key, value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if was {
			_ = os.Setenv(key, old) // it was accepted before
		} else {
			_ = os.Unsetenv(key)
		}
	})
}

// Output implements [testing.TB].
func (t *tb) Output() io.Writer { return t.log }

// Attr implements [testing.TB].
func (t *tb) Attr(key, value string) { t.Logf("%s: %s", key, value) }

// outcome returns what has become of it.
func (t *tb) outcome() (failures []string, skipped string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	failures = slices.Clone(t.failures)
	if t.failed && len(failures) == 0 {
		failures = []string{"it has failed without a reason"}
	}
	return failures, t.skipped
}
