package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// TestList: each mutant of the list has its marker, an edit that fits the code there, a test
// that exists, and says what it breaks.
func TestList(t *testing.T) {
	const root = "../.."
	all, err := readList("list.tsv")
	if err == nil {
		err = find(root, all)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if _, err := m.changed(root); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		if m.breaks == "" || len(m.tests) == 0 {
			t.Errorf("%s: no test, or nothing that breaks", m.name)
		}
		for _, one := range m.tests {
			if !hasTest(t, filepath.Join(root, filepath.FromSlash(one.pkg)), one.name) {
				t.Errorf("%s: there is no %v", m.name, one)
			}
		}
	}
}

func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+name+"(t *testing.T) {") {
			return true
		}
	}
	return false
}

// TestEdit: the text on the marked line is another one, and nothing else is; what does not fit is
// refused.
func TestEdit(t *testing.T) {
	root := t.TempDir()
	repository(t, root, map[string]string{"p.go": ""})
	for _, tt := range []struct{ what, code, want string }{
		{"at the end of the line", "a()\na() //mutant:x", "a()\nb() //mutant:x"},
		{"on the line before", "\t//mutant:x\n\ta()\n\ta()", "\t//mutant:x\n\tb()\n\ta()"},
		{"twice on the line", "a() + a() //mutant:x", ""},
		{"not there", "c() //mutant:x", ""},
		{"another marker", "a() //mutant:xy", ""},
		{"nothing behind the marker", "a()\n//mutant:x", ""},
		{"two markers", "a() //mutant:x\nb() //mutant:x", ""},
		{"a marker of no mutant", "a() //mutant:x\nb() //mutant:y", ""},
	} {
		if err := os.WriteFile(filepath.Join(root, "p.go"), []byte(tt.code), 0o600); err != nil {
			t.Fatal(err)
		}
		all, got := []mutant{{name: "x", old: "a()", with: "b()"}}, ""
		err := find(root, all)
		if err == nil {
			got, err = all[0].changed(root)
		}
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: %q, %v; want %q", tt.what, got, err, tt.want)
		}
	}
}

// TestBadList: a line that lacks a field, a name that comes twice, and an edit that changes nothing
// are refused.
func TestBadList(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list.tsv")
	for _, lines := range []string{
		"a\tx => y\tp\tTestP",
		"a\tx => y\tp\tTestP\tS1\na\tx => y\tp\tTestP\tS2",
		"a\tx\tp\tTestP\tS1",
		"a\tx => x\tp\tTestP\tS1",
	} {
		if err := os.WriteFile(path, []byte("names\n"+lines+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if all, err := readList(path); err == nil {
			t.Errorf("%q: %v", lines, all)
		}
	}
}

// TestOrder: what was changed comes first.
func TestOrder(t *testing.T) {
	in := func(pkg string) []test { return []test{{pkg, "TestX"}} }
	all := []mutant{
		{name: "d", file: "z/d.go", tests: in("z")},
		{name: "a", file: "x/a.go", tests: in("y")},
		{name: "e", file: "z/e.go", tests: in("z")},
		{name: "c", file: "x/c.go", tests: in("z")},
	}
	order(all, []string{"x/c.go", "y/y_test.go"})
	if first := all[0].name + all[1].name; first != "ac" && first != "ca" {
		t.Errorf("first are %s; want a, whose test's package changed, and c, which did itself", first)
	}
}
