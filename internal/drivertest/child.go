package drivertest

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// Child is this test program as another process.
type Child struct {
	*proctest.Process
	In    io.WriteCloser
	Lines *bufio.Scanner // what it prints
}

// StartChild starts this test program again, with more variables in its environment. It
// is killed when the test ends.
func StartChild(tb testing.TB, env ...string) *Child {
	tb.Helper()
	exe, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(tb.Context(), exe)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	// Not StdoutPipe: what a killed child has printed is read to its end.
	out, w, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = out.Close() })
	cmd.Stdout = w
	p := proctest.Start(tb, cmd)
	_ = w.Close()
	return &Child{Process: p, In: in, Lines: bufio.NewScanner(out)}
}

// Line returns the next line that the child prints; it must print one.
func (c *Child) Line(tb testing.TB) string {
	tb.Helper()
	if !c.Lines.Scan() {
		tb.Fatalf("the child ended: %v", c.Lines.Err())
	}
	return c.Lines.Text()
}
