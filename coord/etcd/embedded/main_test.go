package embedded

import (
	"path/filepath"
	"testing"

	"go.etcd.io/etcd/server/v3/storage/wal"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/leaktest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

func TestMain(m *testing.M) {
	wal.SegmentSizeBytes = 1 << 20 // there are many folders in a run
	childMain()
	// An etcd that cannot go on ends where it stands, see trap, and nobody can stop what it had
	// started by then. What a server that is closed leaves behind TestNothingIsLeft finds.
	leaktest.Main(m,
		"go.etcd.io/etcd/server/v3/storage/backend.(*backend).run",
		"go.etcd.io/etcd/server/v3/storage/wal.(*filePipeline).run")
}

const callTime = drivertest.CallTime

var (
	request, within         = drivertest.Request, drivertest.Within
	mustAcquire, eventually = drivertest.MustAcquire, streamtest.Eventually
)

// newDir returns the path of a folder that does not exist yet.
func newDir(tb testing.TB) string {
	tb.Helper()
	return filepath.Join(tb.TempDir(), "etcd of unalike")
}

// openFolder returns a coordinator that is closed with the test.
func openFolder(tb testing.TB, dir, namespace string) *coordinator {
	tb.Helper()
	c, err := newCoordinator(within(tb), dir, namespace, Options{})
	return drivertest.Closing(tb, c, err)
}

// address is where the client of c connects to; empty: nowhere.
func address(c *coordinator) string {
	if p := c.host.Load(); p != nil {
		return p.Address
	}
	return ""
}
