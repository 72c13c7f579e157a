//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// TestServe_LogIsNotRead: a service whose log nobody reads has IDs, and ends when it is told to.
func TestServe_LogIsNotRead(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	fd := int(w.Fd()) // which makes it block
	if err := syscall.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	for err == nil { // until the pipe is full
		_, err = syscall.Write(fd, make([]byte, 4096))
	}
	if err := syscall.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
	unread := func(c *exec.Cmd) { c.Stderr = w }
	s := startServeAs(t, unread, "--coordinator", "static://?worker=7&fresh=true")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s.ready().take(0)
	s.stop()
}
