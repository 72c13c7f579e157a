package scenarios

import (
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/unalike-id/unalike/faults/backend"
)

// TestAll: each scenario can be named and run, and proves something.
func TestAll(t *testing.T) {
	names := map[string]bool{}
	var short time.Duration
	for _, sc := range All() {
		if !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(sc.Name) || names[sc.Name] {
			t.Errorf("the name %q is not one in lower case with hyphens, or is there twice", sc.Name)
		}
		names[sc.Name] = true
		if sc.Number <= 0 || sc.About == "" || sc.Run == nil || sc.MinIDs == 0 || sc.Budget <= 0 || len(sc.Backends) == 0 {
			t.Errorf("%s lacks something: %+v", sc.Name, sc)
		}
		if sc.Short != nil {
			if sc.Short.MinIDs == 0 || sc.Short.MinIDs > sc.MinIDs || sc.Short.Budget <= 0 || sc.Short.Budget > sc.Budget {
				t.Errorf("%s: the short run is %+v, the long one has %d IDs and %v", sc.Name, *sc.Short, sc.MinIDs, sc.Budget)
			}
			on := sc.Short.Backends
			if on == nil {
				on = sc.Backends
			}
			for _, b := range on {
				if !slices.Contains(sc.Backends, b) {
					t.Errorf("%s is in the short set on %q, on which it does not run", sc.Name, b)
				}
				short += sc.Short.Budget
			}
		}
		for _, b := range sc.Backends {
			if !slices.Contains(backend.Names(), b) {
				t.Errorf("%s runs on %q; there are %q", sc.Name, b, backend.Names())
			}
		}
	}
	t.Logf("%d scenarios; the budgets of the short set are %v in all", len(names), short)
}
