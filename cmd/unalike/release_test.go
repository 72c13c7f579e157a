package main

import (
	"strings"
	"testing"
)

// TestReleaseFails: a result that is complete is no failure because the back end has
// gone when the worker ID is given back. That is said once.
func TestReleaseFails(t *testing.T) {
	t.Parallel()
	server, newSpace := newSpaces(t)
	url := newSpace()
	checkLines(t, nil, []line{{"init --coordinator " + url, exitOK, ""}})
	// It cannot end before all of its output is read.
	p := start(t, t.TempDir(), "generate", "--count", "500000", "--coordinator", url)
	p.read(1)
	server.Kill()
	p.drain()
	code, said := p.wait(), p.stderr.String()
	if code != exitOK || p.count != 500_000 {
		t.Errorf("exit code %d, %d IDs\n%s", code, p.count, said)
	}
	if strings.Count(said, "not released") != 1 ||
		!strings.Contains(said, "all IDs were printed; worker ID ") {
		t.Errorf("the standard error output is\n%s", said)
	}
}
