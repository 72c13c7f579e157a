package server_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// TestNode: a client that others have written, from npm, has IDs in every protocol. It runs in make
// full alone, because it needs a registry.
func TestNode(t *testing.T) {
	if fulltest.Rounds(0, 1) == 0 {
		t.Skip("skipped: only with UNALIKE_FULL, because npm downloads the client")
	}
	npm, err1 := exec.LookPath("npm")
	node, err2 := exec.LookPath("node")
	if err1 != nil || err2 != nil {
		t.Skip("skipped: there is no npm or no node here")
	}
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("testdata/node")); err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = folder
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, &stderr)
		}
		return string(out)
	}
	run(npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	image, err := filepath.Abs("../proto/image.binpb")
	if err != nil {
		t.Fatal(err)
	}
	r := serve(t, nil)
	ids := strings.Fields(run(node, "client.mjs", r.listen().URL, image))
	seen := map[string]bool{}
	for _, id := range ids {
		seen[id] = true
	}
	if len(ids) != 20 || len(seen) != 20 {
		safetytest.Of(t).Errorf("%d IDs, %d different: %v", len(ids), len(seen), ids)
	}
}
