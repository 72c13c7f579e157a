package file

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// TestCoordinator_DeletedFile: a file is deleted while another process makes IDs, or after that was
// killed, when an operator declares the namespace new. What is granted next begins above all
// windows that the file had.
func TestCoordinator_DeletedFile(t *testing.T) {
	t.Parallel()
	for _, killed := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "ids")
		child := drivertest.StartChild(t, childURL+"=file://"+path)
		line := child.Line(t)
		if _, err := strconv.ParseInt(line, 10, 64); err != nil {
			t.Fatalf("the process says %s", line)
		}
		if killed {
			child.Kill()
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		least := drivertest.TickNow() + MaxHorizon.Milliseconds()
		c, err := New(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if killed {
			if err := c.Init(t.Context(), drivertest.Space()); err != nil {
				t.Error(err)
			}
		}
		if g := drivertest.MustAcquire(t, c, request(workers)); g.NotBefore < least {
			safetytest.Of(t).Errorf("killed: %v; the grant begins at %d; a window that was lost can "+
				"reach %d", killed, g.NotBefore, least)
		}
	}
}
