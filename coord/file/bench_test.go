package file

import (
	"path/filepath"
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
)

// BenchmarkRenew renews one of 64 worker IDs in a file. Most of it is what the disk takes for two
// syncs.
func BenchmarkRenew(b *testing.B) {
	c, err := open(filepath.Join(b.TempDir(), "ids"), Options{}, false)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	for range workers - 1 {
		drivertest.MustAcquire(b, c, request(workers))
	}
	g := drivertest.MustAcquire(b, c, request(workers))
	for b.Loop() {
		if g, err = c.Renew(b.Context(), g, drivertest.TickNow()+1000); err != nil {
			b.Fatal(err)
		}
	}
}
