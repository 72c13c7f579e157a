//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSignals: a signal prints what was made, gives the worker ID back, and shows in
// the exit code.
func TestSignals(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	for _, tt := range []struct {
		signal os.Signal
		code   int
	}{{os.Interrupt, 130}, {syscall.SIGTERM, 143}} {
		p := start(t, data, "generate", "--count", "100000000", "--config", alone(t))
		p.read(10_000)
		if err := p.cmd.Process.Signal(tt.signal); err != nil {
			t.Fatal(err)
		}
		p.drain()
		if code := p.wait(); code != tt.code || p.count == 100_000_000 {
			t.Errorf("%v: exit code %d after %d IDs, want %d", tt.signal, code, p.count, tt.code)
		}
		if strings.Contains(p.complaints(), "unalike:") {
			t.Errorf("%v: stderr %q", tt.signal, &p.stderr)
		}
		checkReleased(t, data, p)
	}
}

// TestSignalWhileWaiting: a signal ends the wait for a window too.
func TestSignalWhileWaiting(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	// With a new state file the start waits for one horizon, and says so.
	p := start(t, data, "generate", "--coordinator", "static://?worker=5&horizon=10m&state="+filepath.Join(data, "state"))
	for began := time.Now(); !strings.Contains(p.stderr.String(), "waiting for the issue window to open"); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > callTime {
			t.Fatalf("it does not wait\n%s", &p.stderr)
		}
	}
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	p.drain()
	if code := p.wait(); code != 130 || p.count != 0 || time.Since(began) > callTime {
		t.Errorf("exit code %d after %v, %d IDs\n%s", code, time.Since(began), p.count, &p.stderr)
	}
}

// TestWatchSignals: a signal ends a watch, as it ends any command.
func TestWatchSignals(t *testing.T) {
	t.Parallel()
	url := stateFile(t, "5")
	first := start(t, t.TempDir(), "generate", "--count", "1", "--coordinator", url)
	first.drain()
	first.wait()
	p := start(t, t.TempDir(), "workers", "--watch", "--interval", "1h", "--coordinator", url)
	if line, err := p.out.ReadString('\n'); err != nil || !strings.Contains(line, "  worker ID 5  free, last held by ") {
		t.Fatalf("%q, %v\n%s", line, err, &p.stderr)
	}
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := p.wait(); code != 130 || p.complaints() != "" {
		t.Errorf("exit code %d, stderr %q", code, &p.stderr)
	}
}

// TestBrokenPipe: a reader that has enough is no failure.
func TestBrokenPipe(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := start(t, data, "generate", "--count", "100000000", "--config", alone(t))
	p.read(10)
	if err := p.pipe.Close(); err != nil {
		t.Fatal(err)
	}
	code := p.wait()
	if code != exitOK || strings.Contains(p.complaints(), "unalike:") {
		t.Errorf("exit code %d, stderr %q", code, &p.stderr)
	}
	checkReleased(t, data, p)
}
