package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// mutant is one way to break the code: on one line, one text becomes another.
type mutant struct {
	name      string // of its marker
	old, with string
	tests     []test // each of which must fail
	hangs     bool   // they may also fail by not ending
	breaks    string // the invariant, trap or bug
	file      string // with the marker, from the module's root
	line      int    // that is marked; the first is 1
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
// edit, package, tests and what it breaks, separated by tabs. An edit is written A => B: the text
// A, which is once on the marked line, becomes B. Several tests, each of which must notice it, are
// separated by blanks; those of another package are written coord/etcd.TestAsk. "hangs " before
// them says that they may fail by not ending.
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
		old, with, ok := strings.Cut(f[1], " => ")
		if !ok || old == with {
			return nil, fmt.Errorf("%s, line %d: edit is %q, want A => B, two texts that differ", path, i+2,
				f[1])
		}
		tests, hangs := strings.CutPrefix(f[3], "hangs ")
		m := mutant{name: f[0], old: old, with: with, hangs: hangs, breaks: f[4]}
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

// find notes the file and the line of each mutant: those of its marker, a comment mutant:NAME at
// the end of the line, or alone on the line before. A mutant without a marker, a marker without a
// mutant, and two markers of one name are errors.
func find(root string, all []mutant) error {
	cmd := exec.Command("git", "grep", "-I", "-n", "mutant:[a-z0-9-]*$", "--", "*.go", "*.lua",
		"*.sql", ":!internal/mutants")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("git grep for markers: %w", err)
	}
	places := map[string]mutant{}
	for marked := range strings.Lines(string(out)) {
		before, name, _ := strings.Cut(strings.TrimSpace(marked), "mutant:")
		f := strings.SplitN(before, ":", 3) // the file, the line's number, and what is on it
		line, err := strconv.Atoi(f[1])
		if err != nil {
			return fmt.Errorf("git grep for markers: %w", err)
		}
		if strings.Trim(f[2], "\t /-#") == "" {
			line++ // the marker is alone
		}
		if other, twice := places[name]; twice {
			return fmt.Errorf("%s and %s have the marker mutant:%s", other.file, f[0], name)
		}
		places[name] = mutant{file: f[0], line: line}
	}
	for i := range all {
		m := &all[i]
		place, ok := places[m.name]
		if !ok {
			return fmt.Errorf("no file has the marker mutant:%s", m.name)
		}
		m.file, m.line = place.file, place.line
		delete(places, m.name)
	}
	for name, place := range places {
		return fmt.Errorf("%s has the marker mutant:%s, which is not in the list", place.file, name)
	}
	return nil
}

// changed returns m's file as m has it.
func (m *mutant) changed(root string) (string, error) {
	source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.file)))
	if err != nil {
		return "", err
	}
	lines := strings.Split(string(source), "\n")
	if m.line > len(lines) || strings.Count(lines[m.line-1], m.old) != 1 {
		return "", fmt.Errorf("%s: line %d, which is marked, does not have %q once", m.file, m.line,
			m.old)
	}
	lines[m.line-1] = strings.Replace(lines[m.line-1], m.old, m.with, 1)
	return strings.Join(lines, "\n"), nil
}
