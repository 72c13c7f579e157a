//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// checkReleased checks that the one who had the only worker ID gave it back, and its window, which
// reaches far ahead: the next to start gets it, and does not wait.
func checkReleased(t *testing.T, data, settings string, last *program) {
	t.Helper()
	began := time.Now()
	next := start(t, data, "generate", "--config", settings)
	next.last = last.last
	next.drain()
	if code := next.wait(); code != exitOK || next.count != 1 || time.Since(began) > callTime {
		t.Errorf("exit code %d, %d IDs, %v\n%s", code, next.count, time.Since(began), &next.stderr)
	}
}

// TestSignals: a signal prints what was made, gives the worker ID back, and shows in the exit
// code. A reader that has enough is no failure.
func TestSignals(t *testing.T) {
	t.Parallel()
	data, settings := t.TempDir(), settingsFile(t, "worker_ids: 0-0\nhorizon: 2m\n")
	for _, tt := range []struct {
		name string
		end  func(*program)
		code int
	}{
		{"interrupt", func(p *program) { p.signal(os.Interrupt) }, 130},
		{"SIGTERM", func(p *program) { p.signal(syscall.SIGTERM) }, 143},
		{"broken pipe", func(p *program) { _ = p.pipe.Close() }, exitOK},
	} {
		p := start(t, data, "generate", "--count", "100000000", "--config", settings)
		p.read(10_000)
		tt.end(p)
		p.drain()
		code := p.wait()
		if code != tt.code || p.count == 100_000_000 || strings.Contains(p.complaints(), "unalike:") {
			t.Errorf("%s: exit code %d after %d IDs, stderr %q", tt.name, code, p.count, &p.stderr)
		}
		checkReleased(t, data, settings, p)
	}
}

// TestSignalWhileWaiting: a signal ends the wait for a window too.
func TestSignalWhileWaiting(t *testing.T) {
	t.Parallel()
	// With a new state file the start waits for one horizon, and says so.
	state := filepath.Join(t.TempDir(), "state")
	p := start(t, t.TempDir(), "generate", "--coordinator",
		"static://?worker=5&horizon=10m&state="+state)
	proctest.Eventually(t, callTime, "it waits", func() bool {
		return strings.Contains(p.stderr.String(), "waiting for the issue window to open")
	})
	p.signal(os.Interrupt)
	began := time.Now()
	p.drain()
	if code := p.wait(); code != 130 || p.count != 0 || time.Since(began) > callTime {
		t.Errorf("exit code %d after %v, %d IDs\n%s", code, time.Since(began), p.count, &p.stderr)
	}
}
