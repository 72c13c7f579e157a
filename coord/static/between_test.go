package static

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"runtime"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/filelock"
)

// The tests here let another process come in between two steps of one operation.

// TestStateIsReadUnderTheLock: what another process stored until it let go of the lock
// counts, not what was there before.
func TestStateIsReadUnderTheLock(t *testing.T) {
	path, ns := statePathOf(t), rand.Text()
	first := open(t, Options{Namespace: ns, State: path, AcceptFresh: true})
	g := acquire(t, first, request("a", 1000))
	if err := first.Release(t.Context(), g, 1500); err != nil {
		t.Fatal(err)
	}
	forget(ns)
	c := open(t, Options{Namespace: ns, State: path})
	c.storage.lock = func(lock string) (*filelock.File, error) {
		r := stored(t, path)
		r.Generation, r.NotAfter = r.Generation+1, 9000 // a whole life of another process
		if err := realStorage().save(path, r); err != nil {
			t.Fatal(err)
		}
		return filelock.Lock(lock)
	}
	h := acquire(t, c, request("b", 1600))
	window(t, h, 9000, 9000)
	if h.Generation != g.Generation+2 {
		t.Errorf("generation %d follows %d", h.Generation, g.Generation+1)
	}
}

// TestLockIsHeldUntilTheTrimIsStored: whoever gets the lock finds the window trimmed, and
// nobody trims what another one has been granted since.
func TestLockIsHeldUntilTheTrimIsStored(t *testing.T) {
	c, g, path := held(t)
	steps := 0
	look := func() {
		steps++
		if who, _, err := lockedBy(path + ".lock"); err != nil || who == "" {
			t.Errorf("in step %d of storing the trim, the lock is held by %q, %v", steps, who, err)
		}
	}
	real := c.storage
	c.storage.sync = func(f *os.File) error { look(); return real.sync(f) }
	c.storage.rename = func(from, to string) error { look(); return real.rename(from, to) }
	c.storage.syncDir = func(dir string) error { look(); return real.syncDir(dir) }
	if err := c.Release(t.Context(), g, 1500); err != nil {
		t.Fatal(err)
	}
	if who, _, err := lockedBy(path + ".lock"); steps != 3 || err != nil || who != "" {
		t.Errorf("after %d steps the lock is held by %q, %v", steps, who, err)
	}
}

// TestProcessRemembersMoreThanItsFile: a file that was put back from a backup between two
// grants takes nothing back that this process knows.
func TestProcessRemembersMoreThanItsFile(t *testing.T) {
	path, ns := statePathOf(t), rand.Text()
	c := open(t, Options{Namespace: ns, State: path, AcceptFresh: true})
	g := acquire(t, c, request("a", 1000))
	backup := stored(t, path)
	if err := c.Release(t.Context(), renew(t, c, g, 9000), 8000); err != nil {
		t.Fatal(err)
	}
	g = acquire(t, c, request("b", 1000))
	if err := c.Release(t.Context(), g, 8500); err != nil {
		t.Fatal(err)
	}
	if err := realStorage().save(path, backup); err != nil {
		t.Fatal(err)
	}
	h := acquire(t, c, request("c", 1000))
	if h.NotBefore != 8000 || h.Generation != g.Generation+1 {
		t.Errorf("granted was %v after %v; want it to begin at 8000, where that ended", h, g)
	}
}

// lockAgain is another process that finds the lock file deleted and makes a new one.
func lockAgain(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path + ".lock"); err != nil {
		t.Fatal(err)
	}
	l, err := filelock.Lock(path + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Unlock)
}

// TestLockIsLookedAtAfterTheFile: another process that has the lock by now may have read
// the file before it is written, so it is not written.
func TestLockIsLookedAtAfterTheFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("skipped: Windows does not delete a file that is open")
	}
	c, g, path := held(t)
	c.storage.load = func(path string) (record, error) {
		r, err := load(path)
		lockAgain(t, path)
		return r, err
	}
	_, err := c.Renew(t.Context(), g, 5000)
	wantError(t, err, coord.ErrLeaseLost, "coord: lease lost: worker ID 7, generation 1, window (0, 4000]: the lock file "+path+".lock was deleted")
	if r := stored(t, path); r.NotAfter != 4000 {
		t.Errorf("stored is %+v, which the new holder of the lock may not have seen", r)
	}
}

// TestLockIsLookedAtAfterTheWrite: another process that has read the file before it was
// written begins where the old window ended, so the new one is not used.
func TestLockIsLookedAtAfterTheWrite(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("skipped: Windows does not delete a file that is open")
	}
	t.Run("renewal", func(t *testing.T) {
		c, g, path := held(t)
		c.storage.sync = func(f *os.File) error { lockAgain(t, path); return f.Sync() }
		_, err := c.Renew(t.Context(), g, 5000)
		wantError(t, err, coord.ErrLeaseLost, "coord: lease lost: worker ID 7, generation 1, window (0, 4000]: the lock file "+path+".lock was deleted")
	})
	t.Run("acquisition", func(t *testing.T) {
		path := statePathOf(t)
		c := open(t, Options{State: path, AcceptFresh: true})
		c.storage.sync = func(f *os.File) error { lockAgain(t, path); return f.Sync() }
		if g, err := c.Acquire(t.Context(), request("a", 1000)); err == nil {
			t.Errorf("granted was %v, with the lock of nobody else's file", g)
		}
	})
}

// TestReplayThatNobodyHears: what is undone of a replay is not the grant of its holder.
func TestReplayThatNobodyHears(t *testing.T) {
	c, g, _ := held(t)
	replay := c.acquisition(request("a", 1000))
	r, err := replay.run(replay)
	if err != nil || r != g {
		t.Fatalf("replayed: %v, %v; want %v", r, err, g)
	}
	replay.unheard(r)
	window(t, renew(t, c, g, 5000), 0, 5000)
}

// TestRetryJoinsTheAcquisitionUnderWay: what an attempt has reached is for the next one
// with the same token, and is not undone.
func TestRetryJoinsTheAcquisitionUnderWay(t *testing.T) {
	path := statePathOf(t)
	c := open(t, Options{State: path, AcceptFresh: true})
	writing, proceed := make(chan struct{}, 10), make(chan struct{})
	c.storage.sync = func(f *os.File) error {
		writing <- struct{}{}
		<-proceed
		return f.Sync()
	}
	ctx, cancel := context.WithCancel(t.Context())
	answer := make(chan error)
	go func() {
		_, err := c.Acquire(ctx, request("a", 1000))
		answer <- err
	}()
	<-writing
	cancel()
	if err := <-answer; !errors.Is(err, context.Canceled) {
		t.Fatalf("Acquire: %v; want %v", err, context.Canceled)
	}
	granted := make(chan coord.Grant)
	go func() {
		g, err := c.Acquire(t.Context(), request("a", 1000))
		if err != nil {
			t.Error(err)
		}
		granted <- g
	}()
	waitForCallers(c, callKey{op: "acquire", token: "a"}, 1)
	close(proceed)
	g := <-granted
	window(t, g, 0, 4000)
	if g.Generation != 1 {
		t.Errorf("granted was %v; want the grant of the first attempt, generation 1", g)
	}
}

// waitForCallers returns when so many wait for a call.
func waitForCallers(c *Coordinator, key callKey, n int) {
	for {
		c.mu.Lock()
		f := c.calls[key]
		there := f != nil && f.callers == n
		c.mu.Unlock()
		if there {
			return
		}
		runtime.Gosched()
	}
}
