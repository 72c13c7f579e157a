package drivertest

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// GoesOn checks that a generator issues IDs while files are replaced, with the same lease, and that
// the lease is renewed after that. Rotate replaces the files, at the server too, and ends the
// connections.
func GoesOn(t *testing.T, g *core.Generator, rotate func()) {
	t.Helper()
	before := g.Health().Workers[0]
	rotate()
	rotated := time.Now()
	streamtest.Eventually(t, "the lease is renewed after the rotation", func() bool {
		if _, err := g.Next(); err != nil {
			t.Fatalf("%v after the rotation: %v", time.Since(rotated), err)
		}
		return g.Health().LastRenewal.After(rotated)
	})
	t.Logf("renewed %v after the rotation", time.Since(rotated).Round(time.Millisecond))
	after := g.Health().Workers[0]
	if after.WorkerID != before.WorkerID || after.Generation != before.Generation {
		t.Errorf("worker ID %d of generation %d became %d of %d", before.WorkerID, before.Generation,
			after.WorkerID, after.Generation)
	}
}
