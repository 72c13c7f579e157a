//go:build unix

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
)

// TestLongerHorizonThanDeclared: a generator with a state file that asks for more than its namespace
// was declared with is refused, at its first start and with the file of an earlier one.
func TestLongerHorizonThanDeclared(t *testing.T) {
	_, newSpace := newSpaces(t)
	url := newSpace()
	file := filepath.ToSlash(filepath.Join(t.TempDir(), "unalike.state"))
	wantCall(t, call(t, nil, "", "init", "--max-horizon", "6h", "--coordinator", url), exitOK, "6h0m0s", "")
	with := func(horizon string) string { return url + "?horizon=" + horizon + "&state=" + file }
	const beyond = "Horizon is 6h0m30s, and %s has 6h0m0s at most; declare a new one with 'unalike init --max-horizon 6h0m30s', which may follow this one (--after)"
	_, name, _ := strings.Cut(strings.TrimPrefix(url, "etcd://"), "/")
	wantCall(t, call(t, nil, "", "generate", "--coordinator", with("6h30s")), exitFailure, "", fmt.Sprintf(beyond, fmt.Sprintf("namespace %q", name)))

	// A generator that crashes: its coordinator is closed, and nothing is given back.
	c, err := coord.Open(t.Context(), with("6h"), coord.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	crashed, err := core.New(t.Context(), c, core.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	_ = crashed.Close(t.Context()) // its coordinator is closed
	wantCall(t, call(t, nil, "", "generate", "--coordinator", with("6h30s")), exitFailure, "", fmt.Sprintf(beyond, fmt.Sprintf("the namespace of state file %q", file)))
	wantCall(t, call(t, nil, "", "generate", "--coordinator", with("25h")), exitUsage, "", "25h0m0s; at most 24h0m0s is allowed here")
	wantCall(t, call(t, nil, "", "generate", "--coordinator", with("6h")), exitOK, "\n", "")
}
