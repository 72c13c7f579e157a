// Package mutants has mistakes in the library that the fault suite has to notice, and shows that it does. A suite
// that stays green on a mutant is broken.
//
// The library has no switches for them: a mutant is another text in one of its files, compiled into a fault suite
// of its own.
package mutants

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Mutant is a mistake in the library.
type Mutant struct {
	Name  string // short, in lower case, with hyphens
	About string // what the library does then
	File  string // from the root of the repository
	Old   string // what stands there once
	New   string // what stands there instead
	// More is the same mistake in further files, where other back ends have it.
	More []Change
	// Scenario and Backend are what notices it.
	Scenario, Backend string
	// Storm is the contended storm of [StormLength] that notices it, too. None: it is about plain numbers, clients of servers or
	// state files, which contended storms do not have.
	Storm Storm
	// SQL is a database on which the scenario notices it, too. Empty: it does no harm there, which About says.
	SQL string
}

// Change is a text that stands once in a file, and what stands there instead.
type Change struct{ File, Old, New string }

// Storm names a random storm. A seed is worth what the storms' code makes of it: whoever changes that looks for others.
type Storm struct {
	Backend string
	Seed    uint64
}

// apply writes the changed files and what the go command needs to use them in place of the originals below root, all
// into dir. It returns the path of the latter.
func (m *Mutant) apply(root, dir string) (overlay string, err error) {
	replace := map[string]string{}
	for i, c := range append([]Change{{m.File, m.Old, m.New}}, m.More...) {
		path, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(c.File)))
		if err != nil {
			return "", err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		if n := strings.Count(string(source), c.Old); n != 1 {
			return "", fmt.Errorf("%s contains the text that %s changes %d times, want once: %s", c.File, m.Name, n, c.Old)
		}
		changed := filepath.Join(dir, fmt.Sprintf("%d-%s", i, filepath.Base(path)))
		replace[path] = changed
		if err := os.WriteFile(changed, []byte(strings.Replace(string(source), c.Old, c.New, 1)), 0o600); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// Select returns the mutants of these names, or all if there are none.
func Select(names []string) ([]Mutant, error) {
	if len(names) == 0 {
		return All(), nil
	}
	var known []string
	for _, m := range All() {
		known = append(known, m.Name)
	}
	for _, n := range names {
		if !slices.Contains(known, n) {
			return nil, fmt.Errorf("there is no mutant %q; there are %s", n, strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(All(), func(m Mutant) bool { return !slices.Contains(names, m.Name) }), nil
}
