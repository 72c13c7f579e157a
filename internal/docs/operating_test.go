package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// operating is where an alert's annotation leads.
const operating = "https://github.com/unalike-id/unalike/blob/main/docs/operating.md#"

var (
	alert    = regexp.MustCompile(`(?m)^ *- alert: (\w+)$`)
	runbook  = regexp.MustCompile(`(?m)^ *runbook_url: "?([^"\n]*)"?$`)
	toAnchor = regexp.MustCompile(`\]\(#([^)]*)\)`)
)

// TestOperating: each alert leads to a section of the page for operators that says what to do, and
// nothing on that page leads to a section that is not there.
func TestOperating(t *testing.T) {
	read := func(path ...string) string {
		text, err := os.ReadFile(filepath.Join(path...))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	page, rules := read(folder, "operating.md"), read(root, "deploy", "prometheus", "alerts.yaml")
	sections := map[string]string{}
	for _, part := range strings.Split("\n"+page, "\n#")[1:] {
		title, text, _ := strings.Cut(strings.TrimLeft(part, "# "), "\n")
		sections[strings.ReplaceAll(strings.ToLower(title), " ", "-")] = text
	}
	for _, m := range toAnchor.FindAllStringSubmatch(page, -1) {
		if _, there := sections[m[1]]; !there {
			t.Errorf("there is no section %s", m[1])
		}
	}
	parts := alert.Split(rules, -1)[1:]
	for i, m := range alert.FindAllStringSubmatch(rules, -1) {
		anchor := strings.ToLower(m[1])
		if len(strings.Fields(sections[anchor])) < 10 {
			t.Errorf("operating.md has no section %s, which says what to do", m[1])
		}
		if url := runbook.FindStringSubmatch(parts[i]); url == nil || url[1] != operating+anchor {
			t.Errorf("the annotation runbook_url of %s is %q; it is %s%s", m[1], url, operating, anchor)
		}
	}
	if len(parts) < 15 {
		t.Errorf("%d alerts: does this test still find them?", len(parts))
	}
}
