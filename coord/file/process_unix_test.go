//go:build unix

package file

import (
	"errors"
	"math/rand/v2"
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
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// becomeNobody gives up the rights of root.
func becomeNobody() error {
	if os.Geteuid() != 0 {
		return nil
	}
	return syscall.Setuid(65534)
}

// ids reads the IDs that a child prints until its end, and what it says beside.
func ids(c *drivertest.Child, each func(id int64)) (said string) {
	for c.Lines.Scan() {
		if id, err := strconv.ParseInt(c.Lines.Text(), 10, 64); err == nil {
			each(id)
		} else {
			said = c.Lines.Text()
		}
	}
	return said
}

// TestCrowd: as many processes as there are worker IDs start on a new file at once, and have one
// each. One more is told at once that there is none.
func TestCrowd(t *testing.T) { // not beside others: 64 processes are enough for a machine
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
	if len(held) != workers {
		t.Errorf("%d worker IDs are held by %d processes: %v", len(held), workers, held)
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
		t.Errorf("one more: %v, %v", g, err)
	}
}

// TestKillAll kills all processes at arbitrary points, again and again: no ID comes twice, and
// those who come next are served.
func TestKillAll(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: it starts 60 processes; make check does")
	}
	t.Parallel()
	const processes = 3
	url := "file://" + filepath.Join(t.TempDir(), "ids") + "?ttl=3s"
	c, err := coord.Open(t.Context(), url, coord.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.(coord.Admin).Init(t.Context(), core.DefaultLayout().Space()); err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	seen := map[int64]int{}
	idle := 0 // rounds in a row without an ID
	for round := range fulltest.Rounds(20, 500) {
		var mu sync.Mutex
		var ended sync.WaitGroup
		before := len(seen)
		var children []*drivertest.Child
		for range processes {
			c := drivertest.StartChild(t, childURL+"="+url)
			children = append(children, c)
			ended.Go(func() {
				said := ids(c, func(id int64) {
					mu.Lock()
					defer mu.Unlock()
					if last, twice := seen[id]; twice {
						t.Errorf("ID %d comes in round %d and in %d", id, last, round)
					}
					seen[id] = round
				})
				if strings.HasPrefix(said, "error") {
					t.Errorf("round %d: %s", round, said)
				}
			})
		}
		pause := time.NewTimer(time.Duration(rand.Int64N(int64(time.Second))))
		<-pause.C
		for _, c := range children {
			c.Kill()
		}
		ended.Wait()
		if idle++; len(seen) > before {
			idle = 0
		}
		if idle > 10 || t.Failed() {
			t.Fatalf("round %d: no ID in %d rounds", round, idle)
		}
	}
	t.Logf("%d IDs", len(seen))
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
	said := ids(drivertest.StartChild(t, childURL+"=file://"+path, childWeak+"=1"), func(int64) {})
	if !strings.Contains(said, "this user may not write it: open ") || !strings.Contains(said, path) {
		t.Errorf("the process said %s", said)
	}
	if err := os.Chmod(folder, 0o755); err != nil { // so that it can be removed
		t.Fatal(err)
	}
}
