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

// workerOf returns the worker ID of a generator that has one.
func workerOf(g *core.Generator) int { return g.Health().Workers[0].WorkerID }

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

// wantCall checks the exit code and a part of one of the outputs.
func wantCall(t *testing.T, got result, code int, out, stderr string) {
	t.Helper()
	if got.code != code || !strings.Contains(got.out, out) || !strings.Contains(got.stderr, stderr) {
		t.Errorf("exit code %d, output\n%sand standard error output\n%swant %d, %q and %q", got.code,
			got.out, got.stderr, code, out, stderr)
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

// TestNotAble: a coordinator that cannot do what is asked says so, and which can; what cannot be
// undone needs a terminal or --yes.
func TestNotAble(t *testing.T) {
	const (
		none   = " --coordinator static://?worker=1"
		noFile = "cannot tell who holds its worker IDs; name the state file"
	)
	file := " --coordinator file://" + urlPath(t.TempDir()) + "/ids"
	checkLines(t, nil, []line{
		{"init" + none, exitFailure, noFile},
		{"workers" + none, exitFailure, noFile},
		{"quarantine --yes" + none, exitFailure, noFile},
		{"quarantine --lower --yes" + none, exitFailure, noFile},
		{"retire 3 --yes" + none, exitFailure, noFile},
		{
			"init --yes --after nowhere://user:secret@h" + file, exitUsage,
			`--after: unalike: invalid URL: unknown scheme "nowhere"`,
		},
	})
	for _, args := range []string{"quarantine", "retire 3", "init --after etcd://h/x"} {
		got := call(t, nil, "yes\n", strings.Fields(args+file)...)
		wantCall(t, got, exitUsage, "",
			"this cannot be undone, and there is no terminal to ask at; add --yes")
	}
}

// TestFilesOperated: an operator changes a namespace in a file as any other.
func TestFilesOperated(t *testing.T) {
	for url, after := range map[string]int{
		"file://" + urlPath(t.TempDir()) + "/ids": exitOK,
		stateFile(t, "1"):                         exitFailure, // whose only worker ID is retired
	} {
		at := " --coordinator " + url
		checkLines(t, nil, []line{
			{"init" + at, exitOK, "is new, with layout"},
			{"generate" + at, exitOK, ""}, // at once
			{"retire 1 --yes" + at, exitOK, "is retired"},
			{"quarantine --yes --for 1s" + at, exitOK, ""},
			{"workers" + at, exitOK, "1 retired"},
			{"generate" + at, after, ""},
		})
	}
}
