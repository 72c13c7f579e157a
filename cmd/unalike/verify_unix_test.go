//go:build unix

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// numbers is a text of n numbers, one a line.
func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintln(&b, 1_000_000_000+i)
	}
	return b.String()
}

// TestVerifyInterrupted: a signal ends the wait for more IDs, and no temporary file is left.
func TestVerifyInterrupted(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	var in io.WriteCloser
	pipe := func(c *exec.Cmd) {
		c.Env = append(c.Env, "TMPDIR="+temp)
		var err error
		if in, err = c.StdinPipe(); err != nil {
			t.Fatal(err)
		}
	}
	p := startAs(t, t.TempDir(), pipe, "verify", "--plain", "--memory", "1")
	// The program has read all of it but what is in buffers when this returns.
	if _, err := io.WriteString(in, numbers(500_000)); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(temp, "unalike-verify-*", "*"))
	if err != nil || len(files) == 0 {
		t.Errorf("temporary files: %v, %v", files, err)
	}
	p.signal(syscall.SIGTERM)
	out, _ := io.ReadAll(p.out)
	if code := p.wait(); code != 143 || len(out) > 0 || p.stderr.String() != "" {
		t.Errorf("exit code %d; output %q, stderr %q", code, out, &p.stderr)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestVerifyPipe: what is no regular file is read once, and duplicates in it have no lines.
func TestVerifyPipe(t *testing.T) {
	t.Parallel()
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() { _ = os.WriteFile(fifo, []byte("7\n7\n"), 0) }()
	wantCall(t, call(t, nil, "", "verify", "--plain", fifo), exitFailure,
		"2 IDs: 1 duplicate\n7 occurs 2 times\n", "1 duplicate")
}
