package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/kubetest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

var update = flag.Bool("update", false, "write the files that are made of others")

// builtIn is the folder of the program under test.
var builtIn string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if builtIn, err = os.MkdirTemp("", "unalike-deploy-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(builtIn) }()
		return kubetest.Sharing{Tests: m}.Run()
	}())
}

// testStamp is what the program under test says of itself.
var testStamp = stamp{
	"v0.0.0-test", "0123456789abcdef",
	time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
}

// built is the program as images have it, which is built once for all tests.
var built = sync.OnceValues(func() (string, error) {
	path := filepath.Join(builtIn, "unalike")
	if err := os.Chmod(builtIn, 0o755); err != nil { //nolint:gosec // another user runs it
		return "", err
	}
	return path, program(context.Background(), runtime.GOARCH, path, testStamp)
})

// command is the program under test.
func command(t *testing.T) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// served is a running serve.
type served struct {
	t    *testing.T
	proc *proctest.Process
	cmd  *exec.Cmd
	url  string
	log  *proctest.Output
}

// start starts a serve, and returns when it listens.
func start(t *testing.T, cmd *exec.Cmd) *served {
	t.Helper()
	s := &served{t: t, cmd: cmd, log: new(proctest.Output)}
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = out.Close() })
	cmd.Stdout, cmd.Stderr = in, s.log
	s.proc = proctest.Start(t, cmd)
	_ = in.Close()
	line, err := bufio.NewReader(out).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		t.Fatalf("%q, %v\n%s", line, err, s.log)
	}
	s.url = url
	return s
}

// stop ends it as whatever supervises it does, and looks whether it ends well.
func (s *served) stop() {
	s.t.Helper()
	s.proc.Terminate(s.t)
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		s.t.Errorf("it has ended with %d\n%s", code, s.log)
	}
}

// get reads a page.
func (s *served) get(path string) (int, string) {
	resp, err := http.Get(s.url + path) //nolint:noctx // it is on this machine
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(b)
}

// serves waits until there is an ID.
func (s *served) serves() {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		code, body := s.get("/v1/generators/default/ids?wait=5s")
		if code == http.StatusOK && strings.HasPrefix(body, `{"ids":["`) {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("no ID: %d %s\n%s", code, body, s.log)
		}
	}
}

// read returns the text of a file.
func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// put writes a file that is no secret, and returns its path.
func put(t *testing.T, folder, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(folder, name)
	//nolint:gosec // another user reads it
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// accept runs a program on files, which must find nothing wrong.
func accept(t *testing.T, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), "PASSWORD=secret")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s %v: %v\n%s", name, args, err, out)
	}
}
