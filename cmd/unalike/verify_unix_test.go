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
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		signal os.Signal
		code   int
	}{{os.Interrupt, 130}, {syscall.SIGTERM, 143}} {
		temp := t.TempDir()
		cmd := exec.Command(path, "verify", "--plain", "--memory", "1MiB", "--temp", temp)
		var out, stderr locked
		cmd.Stdout, cmd.Stderr = &out, &stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended already unless the test failed
		// The program has read all of it but what is in buffers when this returns.
		if _, err := io.WriteString(in, numbers(500_000)); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(temp, "unalike-verify-*", "*"))
		if err != nil || len(files) == 0 {
			t.Errorf("temporary files: %v, %v", files, err)
		}
		if err := cmd.Process.Signal(tt.signal); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // the exit code says it
		if code := cmd.ProcessState.ExitCode(); code != tt.code || out.String() != "" || stderr.String() != "" {
			t.Errorf("%v: exit code %d, want %d; output %q, stderr %q", tt.signal, code, tt.code, &out.text, &stderr.text)
		}
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("%v: left behind: %v, %v", tt.signal, left, err)
		}
	}
}

// TestVerifyOtherFiles: a link to nowhere, a file that may not be read, and a named pipe.
func TestVerifyOtherFiles(t *testing.T) {
	t.Parallel()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(link+"ed", link); err != nil {
		t.Fatal(err)
	}
	wantCall(t, call(t, nil, "", "verify", link), exitFailure, "", "no such file or directory")
	if os.Geteuid() != 0 { // whom no mode keeps out
		file := writeFile(t, "ids", "1\n")
		if err := os.Chmod(file, 0); err != nil {
			t.Fatal(err)
		}
		wantCall(t, call(t, nil, "", "verify", file), exitFailure, "", file+": permission denied")
	}
	// What is no regular file is read once, and duplicates in it have no lines.
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() { _ = os.WriteFile(fifo, []byte("7\n7\n"), 0) }()
	wantCall(t, call(t, nil, "", "verify", "--plain", fifo), exitFailure, "2 IDs: 1 duplicate\n7 occurs 2 times\n", "1 duplicate")
}
