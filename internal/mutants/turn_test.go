package mutants

import (
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// turns is over how many commits the mutants are spread where not all of them are run.
const turns = 12

// turn returns the mutants whose turn it is at a commit, about a twelfth of them; all of them if no
// commit is named. So each is run every few commits, and those of one commit are always the same.
func turn(mutants []mutant, commit string) ([]mutant, error) {
	if commit == "" {
		return mutants, nil
	}
	var its []mutant
	for _, m := range mutants {
		h := fnv.New32a()
		_, _ = fmt.Fprint(h, commit, " ", m.name) // which cannot fail
		if h.Sum32()%turns == 0 {
			its = append(its, m)
		}
	}
	if len(its) == 0 {
		return nil, fmt.Errorf("none of %d mutants has its turn at commit %q", len(mutants), commit)
	}
	fmt.Printf("%d of %d mutants have their turn at commit %s; make mutants runs all\n", len(its), len(mutants), commit)
	return its, nil
}

func TestTurn(t *testing.T) {
	if got, err := turn(all, ""); err != nil || len(got) != len(all) {
		t.Errorf("without a commit: %d of %d, %v", len(got), len(all), err)
	}
	met := map[string]bool{}
	for n := range 250 {
		some, err := turn(all, fmt.Sprintf("commit %d", n))
		again, _ := turn(all, fmt.Sprintf("commit %d", n))
		if err != nil || len(some) >= len(all)/2 || !slices.Equal(some, again) {
			t.Fatalf("commit %d: %d of %d, then %d, %v", n, len(some), len(all), len(again), err)
		}
		for _, m := range some {
			met[m.name] = true
		}
	}
	if len(met) != len(all) {
		t.Errorf("%d of %d mutants have had their turn in 250 commits", len(met), len(all))
	}
	if got, err := turn(nil, "commit"); err == nil {
		t.Errorf("no mutant: %v", got)
	}
}

// TestTexts looks for the text that each mutant changes: a line that was written anew takes its
// mutant along.
func TestTexts(t *testing.T) {
	sources, names := map[string]string{}, map[string]bool{}
	for _, m := range all {
		if names[m.name] {
			t.Errorf("there are two mutants %q", m.name)
		}
		names[m.name] = true
		if sources[m.file] == "" {
			b, err := os.ReadFile(filepath.Join("../..", filepath.FromSlash(m.file)))
			if err != nil {
				t.Errorf("%s: %v", m.name, err)
				continue
			}
			sources[m.file] = string(b)
		}
		if n := strings.Count(sources[m.file], m.old); n != 1 {
			t.Errorf("%s: %s contains the text to change %d times, want once:\n%s", m.name, m.file, n, m.old)
		}
	}
}
