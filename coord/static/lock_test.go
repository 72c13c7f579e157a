package static

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"github.com/unalike-id/unalike/coord"
)

// TestLockFileDeletedWhileLocking: a lock on a file that has no name any more
// keeps nobody out, and is not taken for one.
func TestLockFileDeletedWhileLocking(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("skipped: Windows does not delete a file that is open")
	}
	path := statePathOf(t) + ".lock"
	deletions := 3
	deleting := func(f *os.File) (bool, error) {
		if deletions > 0 {
			deletions--
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		return tryLock(f)
	}
	l, err := lockWith(path, deleting)
	if err != nil {
		t.Fatal(err)
	}
	if !l.current() {
		t.Error("the locked file is not the one that others find")
	}
	if _, err := lock(path); !errors.Is(err, coord.ErrNoWorkerID) {
		t.Errorf("locked a second time: %v", err)
	}
	l.unlock()
	deletions = 1000
	_, err = lockWith(path, deleting)
	if want := "lock " + path + ": the file is deleted again and again; leave it in place"; err == nil || err.Error() != want {
		t.Errorf("error is %v; want %s", err, want)
	}
}

func TestLockFails(t *testing.T) {
	path := statePathOf(t) + ".lock"
	broken := errors.New("no locks here")
	_, err := lockWith(path, func(*os.File) (bool, error) { return false, broken })
	wantError(t, err, broken, "lock "+path+": no locks here")
}

func TestHolder(t *testing.T) {
	path := statePathOf(t)
	for content, want := range map[string]string{
		"": "another process", "x\n": "another process", "-5\n": "another process", "1234\n": "process 1234",
	} {
		write(t, path, content)
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := holder(f); got != want {
			t.Errorf("a lock file with %q is held by %s; want %s", content, got, want)
		}
		f.Close()
	}
}
