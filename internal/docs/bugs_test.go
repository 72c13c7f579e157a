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

// TestBugs holds docs/bugs.tsv to the code: each bug of the past has a test that is there, names
// the commit that has mended it, and has a mutant that brings it back and that this test is to
// notice, or says why there is none.
func TestBugs(t *testing.T) {
	mutants := map[string]string{} // the tests of each, as -pkg.Test-
	for _, f := range table(t, "internal/mutants/list.tsv", "name\tedit\tpackage\ttest\tbreaks") {
		for name := range strings.FieldsSeq(strings.TrimPrefix(f[3], "hangs ")) {
			if !strings.Contains(name, ".") {
				name = f[2] + "." + name
			}
			mutants[f[0]] += "-" + name + "-"
		}
	}
	sources, seen := map[string]string{}, map[string]int{}
	for i, f := range table(t, "docs/bugs.tsv", "bug\tcommit\tpackage\ttest\tmutant") {
		n := i + 2
		if !commitID.MatchString(f[1]) {
			t.Errorf("line %d: %q is no commit", n, f[1])
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
		why, none := strings.CutPrefix(f[4], "none: ")
		if !none && !strings.Contains(mutants[f[4]], "-"+f[2]+"."+f[3]+"-") || none && why == "" {
			t.Errorf("line %d: %q is no mutant that %s of %s is to notice, nor none: and why", n, f[4], f[3],
				f[2])
		}
	}
	if len(seen) < 120 {
		t.Errorf("%d bugs are listed; bugs of the past do not go away", len(seen))
	}
}

// table reads a file of values separated by tabs, with the names of its columns in the first line.
// No value is empty.
func table(t *testing.T, file, columns string) (rows [][]string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if lines[0] != columns {
		t.Fatalf("%s: the columns are %q; want %q", file, lines[0], columns)
	}
	for i, line := range lines[1:] {
		f := strings.Split(line, "\t")
		if len(f) != strings.Count(columns, "\t")+1 || strings.Contains("\t"+line+"\t", "\t\t") {
			t.Fatalf("%s, line %d is not complete: %q", file, i+2, line)
		}
		rows = append(rows, f)
	}
	return rows
}

// testsOf returns the text of all tests of a package.
func testsOf(t *testing.T, pkg string) string {
	t.Helper()
	var all strings.Builder
	for _, s := range goFiles(t) {
		if s.test && s.folder == pkg {
			all.WriteString(s.text)
		}
	}
	return all.String()
}
