package file

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
)

// TestCoordinator_AtItsLimits: with names, windows and holders at the limits, all calls work.
func TestCoordinator_AtItsLimits(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ids")
	l := drivertest.Limits{Workers: drivertest.Most(1 << 16)}
	l.Open = func(tb testing.TB) drivertest.Operator {
		tb.Helper()
		c, err := New(path, Options{Namespace: drivertest.LongName()})
		return drivertest.Closing(tb, c, err)
	}
	l.Occupy = func(tb testing.TB, like func(string, int) string) {
		tb.Helper()
		for _, field := range []string{"slots", "marks"} {
			edit(tb, path, field, func(all map[string]json.RawMessage) {
				for id := 1; id < l.Workers; id++ {
					all[strconv.Itoa(id)] = json.RawMessage(like(string(all["0"]), id))
				}
			})
		}
	}
	l.Run(t)
}

// TestGenerator_AllStripesHeavy: a generator with 1,024 stripes starts and renews each worker ID.
func TestGenerator_AllStripesHeavy(t *testing.T) {
	t.Parallel()
	c, err := New(filepath.Join(t.TempDir(), "ids"), Options{})
	drivertest.Stripes(t, drivertest.Closing(t, c, err), nil)
}
