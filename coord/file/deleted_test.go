package file

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// TestCoordinator_DeletedFile: a file is deleted while another process makes IDs. What is granted
// next begins above all windows that the file had.
func TestCoordinator_DeletedFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ids")
	line := drivertest.StartChild(t, childURL+"=file://"+path).Line(t)
	if _, err := strconv.ParseInt(line, 10, 64); err != nil {
		t.Fatalf("the process says %s", line)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	least := drivertest.TickNow() + MaxHorizon.Milliseconds()
	c, err := New(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if g := drivertest.MustAcquire(t, c, request(workers)); g.NotBefore < least {
		safetytest.Of(t).Errorf("the grant begins at %d; a window that was lost can reach %d",
			g.NotBefore, least)
	}
}
