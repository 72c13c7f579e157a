package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRun: in a module of its own, mutants that all their tests notice pass, and one that is alive
// for one of them or does not build is an error; the sources stay as they are.
func TestRun(t *testing.T) {
	root := t.TempDir()
	const code = `package p

func Abs(x int) int {
	//mutant:half
	if x < 0 { //mutant:sign
		return -x //mutant:again
	}
	spare := 1 //mutant:builds
	for i := 0; i < spare; i++ { //mutant:ends
	}
	return x + 0 //mutant:nothing
}
`
	const list = `name	edit	package	test	breaks
sign	x < 0 => x >= 0	p	TestAbs TestPositive	S1
half	x < 0 => false	p	TestAbs TestPositive	S1
builds	spare := 1 => {}	p	TestAbs	S1
ends	spare => spare + i + 1	p	hangs TestAbs	S1
nothing	0 => 0*2	p	TestAbs	S1
again	-x => x	p	TestSecondRun	S1
`
	repository(t, root, map[string]string{
		"go.mod": "module m\n\ngo 1.26\n", "p/p.go": code, "internal/mutants/list.tsv": list,
		"p/p_test.go": `package p

import (
	"os"
	"testing"
)

func TestAbs(t *testing.T) {
	if Abs(-1) != 1 || Abs(1) != 1 {
		t.Error("no")
	}
}

func TestSecondRun(t *testing.T) {
	if _, err := os.Stat("ran"); err != nil {
		t.Error(err, os.WriteFile("ran", nil, 0o600))
	}
	if Abs(-1) != 1 {
		t.Error("no")
	}
}

func TestPositive(t *testing.T) {
	if Abs(1) != 1 {
		t.Error("no")
	}
}
`,
	})
	all, err := readList(filepath.Join(root, "internal/mutants/list.tsv"))
	if err == nil {
		err = find(root, all)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := runner{root: root, dir: t.TempDir()}
	for i, want := range []string{
		"", "TestPositive did not notice", "does not build", "",
		"did not notice", "",
	} {
		t.Run(all[i].name, func(t *testing.T) {
			t.Parallel()
			first, err := r.tryTwice(t.Context(), &all[i])
			if again := all[i].name == "again"; again && first == nil {
				t.Error("the first attempt did not fail")
			}
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%v; want %q", err, want)
			}
		})
	}
	t.Cleanup(func() {
		if now, err := os.ReadFile(filepath.Join(root, "p/p.go")); err != nil || string(now) != code {
			t.Errorf("%s, %v", now, err)
		}
	})
}

// repository writes files into a folder, and makes a repository of it.
func repository(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for file, text := range files {
		path := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
}
