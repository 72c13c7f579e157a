package protocol

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestModelNamesCode: what docs/model/README.md says is the code of a step of the model is
// there, under that name.
func TestModelNamesCode(t *testing.T) {
	const root = "../.."
	page, err := os.ReadFile(filepath.Join(root, "docs/model/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(page), "## From the model to the code\n")
	if !ok {
		t.Fatal("docs/model/README.md has no table from the model to the code")
	}
	span := regexp.MustCompile("`([^`]+)`")
	checked := 0
	for row := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(row, " | ")
		if len(cells) != 2 {
			continue
		}
		var in map[string]bool
		for _, m := range span.FindAllStringSubmatch(cells[1], -1) {
			name := m[1]
			if dir, err := os.Stat(filepath.Join(root, name)); err == nil && dir.IsDir() {
				in = declared(t, filepath.Join(root, name))
				continue
			}
			checked++
			if !in[name] {
				t.Errorf("%q is not in the package that is named before it: %s", name, row)
			}
		}
	}
	if checked < 80 {
		t.Errorf("%d names were found; there are more than 80", checked)
	}
}

// declarations are what a Go or Lua file declares: functions, types, and methods.
var declarations = regexp.MustCompile(
	`(?m)^(?:func (?:\(\w* ?\*?(\w+)(?:\[\w+\])?\) )?|type |(?:local )?function )(\w+)(?:\[|\(| )`)

// declared returns the files of a folder and what they declare: methods with and without their
// type.
func declared(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, path := range files {
		names[filepath.Base(path)] = true
		b, err := os.ReadFile(path)
		if err != nil {
			continue // a folder
		}
		for _, m := range declarations.FindAllStringSubmatch(string(b), -1) {
			names[m[2]], names[m[1]+"."+m[2]] = true, true
		}
	}
	return names
}
