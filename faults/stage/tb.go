package stage

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
)

// tb is a testing.TB outside of a test, so that what starts servers for tests serves a program as
// well. Its methods do what those of a testing.T do. What a TB has beyond them is not there, and
// would panic, which fails the scenario: the embedded interface is nil.
type tb struct {
	testing.TB
	name string
	dir  string // for temporary folders
	log  io.Writer
	ctx  context.Context

	mu       sync.Mutex
	cleanups []func()
	failures []string
	skipped  string
}

// run runs f in a goroutine of its own, which Fatal and Skip end, and closes the result when it
// has ended. A panic is a failure.
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

// cleanup runs what Cleanup was given, the last one first.
func (t *tb) cleanup() {
	for {
		t.mu.Lock()
		n := len(t.cleanups)
		if n == 0 {
			t.mu.Unlock()
			return
		}
		f := t.cleanups[n-1]
		t.cleanups = t.cleanups[:n-1]
		t.mu.Unlock()
		<-t.run(f)
	}
}

func (t *tb) Cleanup(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleanups = append(t.cleanups, f)
}

func (t *tb) Name() string { return t.name }

func (t *tb) Helper() {}

// Context ends before the cleanups run, and when the scenario's budget is spent.
func (t *tb) Context() context.Context { return t.ctx }

func (t *tb) Log(args ...any) { t.print(fmt.Sprintln(args...)) }

func (t *tb) Logf(format string, args ...any) { t.print(fmt.Sprintf(format, args...)) }

// print prints a line with one call, as others print on the same log.
func (t *tb) print(s string) {
	_, _ = fmt.Fprintf(t.log, "%s: %s\n", t.name, strings.TrimSuffix(s, "\n"))
}

func (t *tb) Error(args ...any) { t.fail(fmt.Sprintln(args...)) }

func (t *tb) Errorf(format string, args ...any) { t.fail(fmt.Sprintf(format, args...)) }

func (t *tb) Fatal(args ...any) { t.Error(args...); runtime.Goexit() }

func (t *tb) Fatalf(format string, args ...any) { t.Errorf(format, args...); runtime.Goexit() }

func (t *tb) fail(s string) {
	s = strings.TrimSuffix(s, "\n")
	t.print("FAILED: " + s)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failures = append(t.failures, s)
}

func (t *tb) Failed() bool { failures, _ := t.outcome(); return len(failures) > 0 }

func (t *tb) Skip(args ...any) { t.skip(fmt.Sprintln(args...)) }

func (t *tb) Skipf(format string, args ...any) { t.skip(fmt.Sprintf(format, args...)) }

func (t *tb) skip(s string) {
	t.print(s)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.skipped = strings.TrimSuffix(s, "\n")
	runtime.Goexit()
}

func (t *tb) TempDir() string {
	dir, err := os.MkdirTemp(t.dir, "tmp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("removing a temporary folder: %v", err)
		}
	})
	return dir
}

// outcome returns what has become of it.
func (t *tb) outcome() (failures []string, skipped string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.failures), t.skipped
}
