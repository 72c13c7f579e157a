// Package mutants has mistakes in the library that the fault suite has to notice, and shows that it does. A suite
// that stays green on a mutant is broken.
//
// The library has no switches for them: a mutant is another text in one of its files, compiled into a fault suite
// of its own.
package mutants

import (
	"encoding/json"
	"errors"
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
	// Scenario and Backend are what notices it.
	Scenario, Backend string
	// Storm is the storm that notices it, too.
	Storm Storm
}

// Storm names a random storm. The zero Storm is none.
type Storm struct {
	Backend string
	Seed    uint64
}

// apply writes the changed file and what the go command needs to use it in place of the original below root, both
// into dir. It returns the path of the latter.
func (m *Mutant) apply(root, dir string) (overlay string, err error) {
	path, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(m.File)))
	if err != nil {
		return "", err
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(source), m.Old); n != 1 {
		return "", fmt.Errorf("%s contains the text that %s changes %d times, want once: %s", m.File, m.Name, n, m.Old)
	}
	changed := filepath.Join(dir, filepath.Base(path))
	overlay = filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	if err != nil {
		return "", err
	}
	return overlay, errors.Join(
		os.WriteFile(changed, []byte(strings.Replace(string(source), m.Old, m.New, 1)), 0o600),
		os.WriteFile(overlay, replace, 0o600),
	)
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
