package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// commitID is how docs/bugs.tsv names a commit.
var commitID = regexp.MustCompile(`^[0-9a-f]{7,40}$`)

// TestBugs holds docs/bugs.tsv to the code: each bug of the past has a test that is there, and
// names the commit that has mended it.
func TestBugs(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(folder, "bugs.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if want := "bug\tcommit\tpackage\ttest"; lines[0] != want {
		t.Fatalf("the columns are %q; want %q", lines[0], want)
	}
	sources, seen := map[string]string{}, map[string]int{}
	for i, line := range lines[1:] {
		n, f := i+2, strings.Split(line, "\t")
		if len(f) != 4 || f[0] == "" || !commitID.MatchString(f[1]) || f[2] == "" || f[3] == "" {
			t.Errorf("line %d is not complete: %q", n, line)
			continue
		}
		if before := seen[f[0]]; before != 0 {
			t.Errorf("line %d is about the bug of line %d", n, before)
		}
		seen[f[0]] = n
		if _, ok := sources[f[2]]; !ok {
			sources[f[2]] = testsOf(t, f[2])
		}
		if !strings.Contains(sources[f[2]], "\nfunc "+f[3]+"(") {
			t.Errorf("line %d: package %s has no test %s", n, f[2], f[3])
		}
	}
	if len(seen) < 120 {
		t.Errorf("%d bugs are listed; bugs of the past do not go away", len(seen))
	}
}

// testsOf returns the text of all tests of a package.
func testsOf(t *testing.T, pkg string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pkg), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
