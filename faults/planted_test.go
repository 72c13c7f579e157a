package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// planted are mistakes in the library that the suite has to notice by IDs that are issued twice,
// each with the scenario that does, on etcd.
var planted = []struct {
	name, scenario string
	file, old, new string
}{
	{
		"a window begins below the one before", "silent", "internal/protocol/candidate.go",
		"return max(c.Slot.NotAfter, floor) }", "return floor }",
	},
	{
		"numbers are given back below those of others", "segments", "segment/etcd/store.go",
		"\tmine, taken := s.seenLast(tag)\n\tif !taken || mine.Next != unused.Last+1 {\n",
		"\tmine, err := s.read(ctx, tag, \"\")\n\tif err != nil || mine.Next <= unused.Last {\n",
	},
	{
		"a client takes one ID more than it was given", "service", "client/stock.go", "n <= p.count &&",
		"n <= p.count+1 &&",
	},
}

// TestPlanted: a suite that cannot fail is worth nothing. In `make full` all are planted; that
// each could be is seen always.
func TestPlanted(t *testing.T) {
	fulltest.Long(t, "it builds the suite with mistakes in the library")
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range planted {
		t.Run(p.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(root, filepath.FromSlash(p.file))
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(source), p.old); n != 1 {
				t.Fatalf("%s contains %q %d times, want once", p.file, p.old, n)
			}
			if i >= fulltest.Rounds(1, len(planted)) {
				return
			}
			changed, overlay, program := filepath.Join(dir, "changed.go"),
				filepath.Join(dir, "overlay.json"), filepath.Join(dir, "faults")
			write(t, changed, strings.Replace(string(source), p.old, p.new, 1))
			replace, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
			if err != nil {
				t.Fatal(err)
			}
			write(t, overlay, string(replace))
			if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w",
				"-overlay="+overlay, "-o", program, ".").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			cmd := exec.CommandContext(t.Context(), program, "run", "-short", "-backend", "etcd", p.scenario)
			cmd.Dir = dir
			out, _ := cmd.CombinedOutput() // the results say it
			results, err := stage.ReadResults(filepath.Join(dir, "faults.jsonl"))
			if err != nil || len(results) != 1 || results[0].Passed() || results[0].Duplicates == 0 {
				t.Errorf("the results are %+v, %v; want one that has failed, with duplicates\n%s", results, err,
					out)
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
