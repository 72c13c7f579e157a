package local

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// TestDiskFull: on a disk without room for the file, a start says so; on one that gets full
// later, the file has its room already.
func TestDiskFull(t *testing.T) {
	r := newRig(t)
	if err := syscall.Mount("tmpfs", r.dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("skipped: no file system can be mounted: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(r.dir, syscall.MNT_DETACH) })
	ballast := filepath.Join(r.dir, "ballast")
	fill := func() {
		t.Helper()
		if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("the disk is not full: %v", err)
		}
	}
	fill()
	p := r.start()
	_, err := p.Acquire(r.ctx(), r.request(4))
	if err == nil || coord.Permanent(err) || !strings.Contains(err.Error(), "cannot be written: the disk is full") {
		t.Fatalf("on a full disk: %v", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	g := p.acquire(4)
	fill()
	began := time.Now()
	r.eventually("the window has grown past the first mark", func() bool {
		g = p.renew(g)
		return time.Since(began) > DefaultWindow+500*time.Millisecond
	})
	if g.NotAfter < tickNow() || p.Coordinator.disk != nil {
		t.Errorf("on a disk that is full now: %v, %v", g, p.Coordinator.disk)
	}
}
