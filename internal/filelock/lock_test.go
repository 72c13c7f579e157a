package filelock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l, err := Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if !l.Current() || l.Path() != path {
		t.Errorf("the locked file %s is not the one that others find", l.Path())
	}
	_, err = Lock(path)
	var held *HeldError
	if !errors.As(err, &held) || held.PID != os.Getpid() {
		t.Errorf("locked a second time: %v", err)
	}
	if want := fmt.Sprintf("%s is locked by this process, %d", path,
		os.Getpid()); err.Error() != want {
		t.Errorf("error is %v; want %s", err, want)
	}
	l.Unlock()
	if l, err = Lock(path); err != nil {
		t.Fatalf("after it was unlocked: %v", err)
	}
	l.Unlock()
}

// TestDeletedWhileLocking: a lock on a file that has no name any more keeps nobody
// out, and is not taken for one.
func TestDeletedWhileLocking(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("skipped: Windows does not delete a file that is open")
	}
	path := filepath.Join(t.TempDir(), "lock")
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
	if !l.Current() {
		t.Error("the locked file is not the one that others find")
	}
	var held *HeldError
	if _, err := Lock(path); !errors.As(err, &held) {
		t.Errorf("locked a second time: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if l.Current() {
		t.Error("a file that was deleted is taken for the one that others find")
	}
	l.Unlock()
	deletions = 1000
	_, err = lockWith(path, deleting)
	if want := "lock " + path + ": the file is deleted again and again; leave " +
		"it in place"; err == nil || err.Error() != want {
		t.Errorf("error is %v; want %s", err, want)
	}
}

func TestLockFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	broken := errors.New("no locks here")
	_, err := lockWith(path, func(*os.File) (bool, error) { return false, broken })
	if !errors.Is(err, broken) || err.Error() != "lock "+path+": no locks here" {
		t.Errorf("error is %v", err)
	}
	if _, err := Lock(filepath.Join(path, "below")); err == nil {
		t.Error("a file below a file was locked")
	}
}

func TestHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	for content, want := range map[string]string{
		"": "another process", "x\n": "another process", "-5\n": "another process",
		"1234\n": "process 1234", "1234 X\n": "process 1234",
		fmt.Sprintln(os.Getpid(), "X"): fmt.Sprintf("process %d of another container", os.Getpid()),
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := holder(path, f).Holder(); got != want {
			t.Errorf("a lock file with %q is held by %s; want %s", content, got, want)
		}
		f.Close()
	}
}

// TestFile_Mark: a mark stays, whoever locks the file afterwards, and the signature is the last
// one's.
func TestFile_Mark(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l, err := Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if l.Marked() {
		t.Error("a new lock file is marked")
	}
	broken := errors.New("no answer")
	if err := l.Mark(func(*os.File) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("Mark: %v", err)
	}
	if err := l.Mark((*os.File).Sync); err != nil {
		t.Fatal(err)
	}
	l.Unlock()
	if l, err = Lock(path); err != nil {
		t.Fatal(err)
	}
	defer l.Unlock()
	if !l.Marked() {
		t.Error("the mark is gone")
	}
	if held := look(t, path); held == nil || held.PID != os.Getpid() || !held.here {
		t.Errorf("it is locked by %+v", held)
	}
	if err := os.Remove(path); err != nil && runtime.GOOS != "windows" {
		t.Fatal(err)
	} else if err := l.Mark((*os.File).Sync); err == nil && runtime.GOOS != "windows" {
		t.Error("a lock file that is gone was marked")
	}
}
