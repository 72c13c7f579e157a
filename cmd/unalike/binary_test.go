package main

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/leaktest"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// builtIn is the folder of the program under test.
var builtIn string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if builtIn, err = os.MkdirTemp("", "unalike-test-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(builtIn) }() // a leftover in the temporary folder
		return leaktest.Run(m)
	}())
}

// build builds the program once and returns its path.
var build = sync.OnceValues(func() (string, error) {
	// the ending is needed on one system and allowed on all
	path := filepath.Join(builtIn, "unalike.exe")
	out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// program is a run of the real program.
type program struct {
	t      *testing.T
	cmd    *exec.Cmd
	out    *bufio.Reader
	pipe   io.ReadCloser
	stderr proctest.Output
	last   core.ID // the last ID that was read
	count  int     // how many
}

// start starts the program with a data folder of its own, and nothing else in its
// environment that matters to it.
func start(t *testing.T, data string, args ...string) *program {
	t.Helper()
	return startAs(t, data, func(*exec.Cmd) {}, args...)
}

// startAs starts the program after a change of how that is done.
func startAs(t *testing.T, data string, change func(*exec.Cmd), args ...string) *program {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	p := &program{t: t, cmd: exec.Command(path, args...), last: -1}
	p.cmd.Env = append(os.Environ(), "XDG_DATA_HOME="+data, "LOCALAPPDATA="+data, envCoordinator+"=")
	p.cmd.Stderr = &p.stderr
	change(p.cmd)
	proctest.EndWithParent(p.cmd)
	if p.pipe, err = p.cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReaderSize(p.pipe, 1<<16)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it has ended already unless the test failed
		_ = p.cmd.Wait()
		if t.Failed() {
			t.Logf("%v says:\n%s", args, &p.stderr)
		}
	})
	return p
}

// read reads up to n decimal IDs and checks that each is larger than the one before.
// It stops early at the end of the output; a line that was cut there does not count.
func (p *program) read(n int) {
	p.t.Helper()
	for range n {
		line, err := p.out.ReadString('\n')
		if err != nil {
			return
		}
		id, err := core.ParseID(strings.TrimSuffix(line, "\n"))
		if err != nil || id <= p.last {
			safetytest.Unless(p.t, err).Fatalf("%q follows %d: %v\n%s", line, p.last, err, &p.stderr)
		}
		p.last = id
		p.count++
	}
}

// drain reads all that is left.
func (p *program) drain() { p.read(math.MaxInt) }

// complaints is what was said, but for what a busy machine makes a program say.
func (p *program) complaints() string {
	var b strings.Builder
	busy := []string{
		"still waiting for ", "worker ID not acquired, trying again",
		"renewal failed, going on inside the window",
	}
	for line := range strings.Lines(p.stderr.String()) {
		if !slices.ContainsFunc(busy, func(said string) bool { return strings.Contains(line, said) }) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// wait waits for the end and returns the exit code.
func (p *program) wait() int {
	p.t.Helper()
	_ = p.cmd.Wait() // the exit code says it
	return p.cmd.ProcessState.ExitCode()
}

// signal sends the program a signal.
func (p *program) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}
