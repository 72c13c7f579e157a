package static

import (
	"path/filepath"
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
)

// TestGenerator_AllStripesHeavy: a generator with 1,024 stripes starts and renews each worker ID.
func TestGenerator_AllStripesHeavy(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]string{
		"memory": "", "file": filepath.Join(t.TempDir(), "state"),
	} {
		t.Run(name, func(t *testing.T) {
			c, err := New(0, Options{
				Namespace: drivertest.LongName()[:116] + name, State: state, AcceptFresh: true,
				Count: drivertest.MostStripes,
			})
			drivertest.Stripes(t, drivertest.Closing(t, c, err), nil)
		})
	}
}
