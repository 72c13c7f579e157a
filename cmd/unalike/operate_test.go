package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// callTime is for one call on a machine that is busy with other things.
const callTime = 60 * time.Second

// newSpaces starts an etcd that ends with the test, and returns a function that gives
// the URL of a new namespace in it each time.
func newSpaces(t *testing.T) (server *etcdtest.Server, url func() string) {
	t.Helper()
	server = etcdtest.Start(t)
	return server, func() string { return "etcd://" + server.Endpoint + "/" + rand.Text() }
}

// stateFile returns a static URL with a state file that nobody has used.
func stateFile(t *testing.T, worker string) string {
	t.Helper()
	path := filepath.ToSlash(filepath.Join(t.TempDir(), "state"))
	return "static://?fresh=true&worker=" + worker + "&namespace=" + rand.Text() + "&state=" + path
}

// generator starts a generator that is closed with the test, if not before.
func generator(t *testing.T, url string, cfg core.Config) *core.Generator {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), callTime)
	defer cancel()
	c, err := coord.Open(ctx, url, coord.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	g, err := core.New(ctx, c, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeGenerator(t, g) })
	return g
}

func closeGenerator(t *testing.T, g *core.Generator) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	if err := g.Close(ctx); err != nil && !errors.Is(err, core.ErrClosed) {
		t.Errorf("closing a generator: %v", err)
	}
}

// ids takes n IDs.
func ids(t *testing.T, g *core.Generator, n int) []core.ID {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), callTime)
	defer cancel()
	all := make([]core.ID, n)
	if k, err := g.Fill(ctx, all); err != nil || k != n {
		t.Fatalf("%d of %d IDs: %v", k, n, err)
	}
	return all
}

// wantCall checks the exit code and a part of one of the outputs.
func wantCall(t *testing.T, got result, code int, out, stderr string) {
	t.Helper()
	if got.code != code || !strings.Contains(got.out, out) || !strings.Contains(got.stderr, stderr) {
		t.Errorf("exit code %d, output\n%sand standard error output\n%swant %d, %q and %q", got.code, got.out, got.stderr, code, out, stderr)
	}
}

func holderHere(t *testing.T) string {
	t.Helper()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}

// bare is a coordinator without any optional interface.
type bare struct{ coord.Coordinator }

// TestNotAble: a coordinator that cannot do what is asked says so, and which can.
func TestNotAble(t *testing.T) {
	_, url := newSpaces(t)
	const none, noFile = "static://?worker=1", "cannot tell who holds its worker IDs; name the state file"
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"init", "--coordinator", none}, exitFailure, noFile},
		{[]string{"workers", "--coordinator", none}, exitFailure, noFile},
		{[]string{"quarantine", "--yes", "--coordinator", none}, exitFailure, noFile},
		{[]string{"retire", "3", "--yes", "--coordinator", none}, exitFailure, noFile},
		{[]string{"init", "--yes", "--after", "nowhere://user:secret@h", "--coordinator", url()}, exitUsage, `--after: coord: invalid URL: unknown scheme "nowhere"`},
	} {
		got := call(t, nil, "", tt.args...)
		wantCall(t, got, tt.code, "", tt.want)
		if strings.Contains(got.stderr+got.out, "secret") {
			t.Errorf("%v: the password was printed", tt.args)
		}
	}
}

// TestLacks is about a coordinator that has no optional interface at all.
func TestLacks(t *testing.T) {
	n := newNamespace(bare{}, place{rawURL: "bare://user:secret@h"})
	_, err := n.admin()
	want := "a coordinator of the scheme bare cannot list or change a namespace; those of these schemes can: " + strings.Join(coord.Schemes(), ", ")
	if usage := (usageError{}); !errors.As(err, &usage) || err.Error() != want {
		t.Errorf("%v; want %q", err, want)
	}
	if n.name != "bare://user:xxxxx@h" {
		t.Errorf("it is called %s", n.name)
	}
	if _, err := newNamespace(bare{}, place{folder: "x"}).admin(); err == nil || !strings.HasPrefix(err.Error(), "the default coordinator cannot list or change a namespace; ") {
		t.Errorf("the default coordinator: %v", err)
	}
}

// TestFilesOperated: an operator changes a namespace in a file as any other.
func TestFilesOperated(t *testing.T) {
	for scheme, url := range map[string]string{
		"file":   "file://" + filepath.ToSlash(filepath.Join(t.TempDir(), "ids")),
		"static": stateFile(t, "1"),
	} {
		wantCall(t, call(t, nil, "", "init", "--coordinator", url), exitOK, "is new, with layout", "")
		wantCall(t, call(t, nil, "", "generate", "--coordinator", url), exitOK, "", "") // at once
		wantCall(t, call(t, nil, "", "retire", "1", "--yes", "--coordinator", url), exitOK, "is retired", "")
		wantCall(t, call(t, nil, "", "quarantine", "--yes", "--for", "1s", "--coordinator", url), exitOK, "", "")
		wantCall(t, call(t, nil, "", "workers", "--coordinator", url), exitOK, "1 retired", "")
		if got := call(t, nil, "", "generate", "--coordinator", url); (got.code == exitOK) != (scheme == "file") {
			t.Errorf("%s, whose worker ID 1 is retired: %+v", scheme, got)
		}
	}
}

// TestNoTerminal: what cannot be undone needs a terminal or --yes.
func TestNoTerminal(t *testing.T) {
	_, url := newSpaces(t)
	for _, args := range [][]string{
		{"quarantine"},
		{"retire", "3"},
		{"init", "--after", url()},
	} {
		got := call(t, nil, "yes\n", append(args, "--coordinator", url())...)
		wantCall(t, got, exitUsage, "", "unalike: this cannot be undone, and there is no terminal to ask at; add --yes if it is what you want\nRun 'unalike "+args[0]+" --help' for usage.\n")
	}
	wantCall(t, call(t, nil, "", "init", "--coordinator", url()), exitOK, " is new, with layout 41/10/12/1ms/2024-01-01T00:00:00Z\n", "")
}
