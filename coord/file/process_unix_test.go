//go:build unix

package file

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// becomeNobody gives up the rights of root.
func becomeNobody() error {
	if os.Geteuid() != 0 {
		return nil
	}
	return syscall.Setuid(65534)
}

// TestCrowd: as many processes as there are worker IDs start on a new file at once, and have one
// each. One more is told at once that there is none.
func TestCrowd(t *testing.T) { // not beside others: its processes are enough for a machine
	// nothing ends because the machine is slow
	url := "file://" + filepath.Join(t.TempDir(), "ids") + "?ttl=5m"
	began := time.Now()
	var mu sync.Mutex
	var served sync.WaitGroup
	held := map[int]int{}
	var all []*drivertest.Child
	for range workers {
		all = append(all, drivertest.StartChild(t, childURL+"="+url))
	}
	started := time.Since(began)
	for _, c := range all {
		served.Go(func() {
			if !c.Lines.Scan() {
				t.Error("a process has ended")
				return
			}
			id, err := strconv.ParseInt(c.Lines.Text(), 10, 64)
			if err != nil {
				t.Errorf("a process says %s", c.Lines.Text())
			}
			mu.Lock()
			defer mu.Unlock()
			held[core.DefaultLayout().Decompose(core.ID(id)).WorkerID]++
		})
	}
	served.Wait()
	t.Logf("%d processes were started within %v and served within %v", workers, started,
		time.Since(began))
	if len(held) != workers && !t.Failed() {
		safetytest.Of(t).Errorf("%d worker IDs are held by %d processes: %v", len(held), workers, held)
	}
	if t.Failed() {
		return // a process that has none leaves one free
	}
	c, err := coord.Open(t.Context(), url, coord.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	began = time.Now()
	g, err := c.Acquire(t.Context(), request(workers))
	t.Logf("one more was told after %v: %v", time.Since(began), err)
	if full, ok := errors.AsType[*coord.NoWorkerIDError](err); !ok || full.InUse != workers ||
		full.Soonest.IsZero() {
		safetytest.Unless(t, err).Errorf("one more: %v, %v", g, err)
	}
}

// TestPermissionDenied needs a process of its own, because nothing is denied to root, who may run
// the tests.
func TestPermissionDenied(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, d := range []string{folder, filepath.Dir(folder)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(folder, 0o555); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "ids")
	said := drivertest.StartChild(t, childURL+"=file://"+path, childWeak+"=1").Line(t)
	if !strings.Contains(said, "this user may not write it: "+folder+" belongs to user ") ||
		!strings.Contains(said, ": open "+path) {
		t.Errorf("the process said %s", said)
	}
	if err := os.Chmod(folder, 0o755); err != nil { // so that it can be removed
		t.Fatal(err)
	}
}
