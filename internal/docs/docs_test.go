package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// folder has the pages.
const folder = root + "/docs"

var (
	// code is what stands between backquotes.
	code = regexp.MustCompile("`([^`\n]+)`")
	// name is package.Name or package.Type.Name.
	name = regexp.MustCompile(`^[a-z]+(\.[A-Za-z]+){1,2}$`)
	// path is a folder or a file of the module.
	path = regexp.MustCompile(`^[a-z]+(/[a-z._]+)+$`)
	// observed is the name of a metric or an alert.
	observed = regexp.MustCompile(`^(unalike_[a-z_]+|Unalike[A-Z][A-Za-z]+)$`)
	link     = regexp.MustCompile(`\]\(([^)#]+)`)
)

// TestNames holds pages to the code: functions and types that they name are declared, folders and
// files are there, metrics are collected, and alerts have a rule.
func TestNames(t *testing.T) {
	known := declared(t)
	shown := contents(t, "metrics/collect.go") + contents(t, "deploy/prometheus/alerts.yaml")
	for page, least := range map[string]int{"architecture.md": 40, "design/origins.md": 40} {
		text, names := contents(t, "docs/"+page), 0
		for _, m := range code.FindAllStringSubmatch(text, -1) {
			switch said := m[1]; {
			case strings.HasSuffix(said, ".go"), path.MatchString(said):
				if _, err := os.Stat(filepath.Join(root, said)); err != nil {
					t.Errorf("%s: %v", page, err)
				}
			case name.MatchString(said):
				names++
				if !known[said] {
					t.Errorf("%s: %s is not declared anywhere", page, said)
				}
			case observed.MatchString(said) && !regexp.MustCompile(`\b`+said+`\b`).MatchString(shown):
				t.Errorf("%s: there is no metric and no alert %s", page, said)
			}
		}
		if names < least {
			t.Errorf("%s names %d functions and types, and should name %d at least: does this test "+
				"still find them?", page, names, least)
		}
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(folder, filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}

// contents returns the text of a file of the module.
func contents(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestModelNamesCode: what docs/model/README.md says is the code of a step of the model is there,
// under that name, in the folder that is named before it.
func TestModelNamesCode(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(folder, "model", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## From the model to the code\n")
	known, names := declared(t), 0
	for row := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(row, " | ")
		if len(cells) != 2 {
			continue
		}
		in := ""
		for _, m := range code.FindAllStringSubmatch(cells[1], -1) {
			if path.MatchString(m[1]) || m[1] == "core" || m[1] == "coord" {
				in = m[1]
				continue
			}
			names++
			_, err := os.Stat(filepath.Join(root, in, m[1]))
			if !known[in+" "+m[1]] && err != nil && !inScript(t, in, m[1]) {
				t.Errorf("%q is not in %s, which is named before it: %s", m[1], in, row)
			}
		}
	}
	if names < 80 {
		t.Errorf("%d names were found; there are more than 80", names)
	}
}

// inScript reports whether a script of a folder has a function.
func inScript(t *testing.T, in, function string) bool {
	t.Helper()
	scripts, err := filepath.Glob(filepath.Join(root, in, "*.lua"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(scripts, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), "function "+function+"(")
	})
}
