package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is one way to break the code.
type mutant struct {
	name   string // of its marker
	edit   string // see edit.go
	tests  []test // each of which must fail
	hangs  bool   // they may also fail by not ending
	breaks string // the invariant, trap or bug
	file   string // with the marker, from the module's root
}

// test is a test of a package, as core.
type test struct{ pkg, name string }

// String returns the test as a list has it.
func (t test) String() string { return t.pkg + "." + t.name }

// testedBy reports whether a package has one of the tests.
func (m *mutant) testedBy(pkg string) bool {
	return slices.ContainsFunc(m.tests, func(t test) bool { return t.pkg == pkg })
}

// readList reads a list of mutants: a line of names, and a line for each mutant with its name,
// edit, package, tests and what it breaks, separated by tabs. Several tests, each of which must
// notice it, are separated by blanks; those of another package are written coord/etcd.TestAsk.
// "hangs " before them says that they may fail by not ending.
func readList(path string) ([]mutant, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []mutant
	seen := map[string]bool{}
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")[1:] {
		f := strings.Split(line, "\t")
		if len(f) != 5 || seen[f[0]] {
			return nil, fmt.Errorf("%s, line %d: want name, edit, package, tests and what breaks, and each "+
				"name once: %q",
				path, i+2, line)
		}
		seen[f[0]] = true
		tests, hangs := strings.CutPrefix(f[3], "hangs ")
		m := mutant{name: f[0], edit: f[1], hangs: hangs, breaks: f[4]}
		for name := range strings.FieldsSeq(tests) {
			pkg, other, elsewhere := strings.Cut(name, ".")
			if !elsewhere {
				pkg, other = f[2], name
			}
			m.tests = append(m.tests, test{pkg, other})
		}
		all = append(all, m)
	}
	return all, nil
}

// find notes the file of each mutant, which has its marker. A mutant without a marker, and a
// marker without a mutant, are errors.
func find(root string, all []mutant) error {
	cmd := exec.Command("git", "grep", "-I", "-o", "mutant:[a-z0-9-]*$", "--", "*.go", "*.lua",
		"*.sql", ":!internal/mutants")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("git grep for markers: %w", err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		file, name, _ := strings.Cut(strings.TrimSpace(line), ":mutant:")
		if other, twice := files[name]; twice {
			return fmt.Errorf("%s and %s have the marker mutant:%s", other, file, name)
		}
		files[name] = file
	}
	for i := range all {
		all[i].file = files[all[i].name]
		if all[i].file == "" {
			return fmt.Errorf("no file has the marker mutant:%s", all[i].name)
		}
		delete(files, all[i].name)
	}
	for name, file := range files {
		return fmt.Errorf("%s has the marker mutant:%s, which is not in the list", file, name)
	}
	return nil
}

// changed returns m's file as m has it.
func (m *mutant) changed(root string) (string, error) {
	source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.file)))
	if err != nil {
		return "", err
	}
	text, err := edit(m.name, string(source), m.edit)
	if err == nil && text == string(source) {
		err = errors.New("the edit changes nothing")
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", m.file, err)
	}
	return text, nil
}
