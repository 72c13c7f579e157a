package filelock

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

func look(t *testing.T, path string) *HeldError {
	t.Helper()
	held, since, err := Look(path)
	if err != nil {
		t.Fatal(err)
	}
	if (held == nil) != since.IsZero() {
		t.Errorf("%v since %v", held, since)
	}
	return held
}

func TestLook(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if held := look(t, path); held != nil {
		t.Errorf("a missing file: %v", held)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("looking has made the file: %v", err)
	}
	began := time.Now().Add(-time.Second) // file systems may be coarser than the clock
	l, err := Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if held := look(t, path); held == nil || held.PID != os.Getpid() || held.Path != path {
		t.Errorf("a locked file: %v", held)
	}
	if _, since, _ := Look(path); since.Before(began) || since.After(time.Now().Add(time.Second)) {
		t.Errorf("locked since %v; the test began at %v", since, began)
	}
	l.Unlock()
	if held := look(t, path); held != nil {
		t.Errorf("an unlocked file: %v", held)
	}
	if _, _, err := Look(filepath.Join(path, "below")); err == nil {
		t.Error("a file below a file was looked at")
	}
}

// share takes the lock that Look takes, for longer.
func share(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if ok, err := tryShare(f); !ok || err != nil {
		t.Fatal(ok, err)
	}
	return f
}

func newFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lock")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestLooks: two who look do not take each other for a holder, and one who looks
// without end is not waited for without end.
func TestLooks(t *testing.T) {
	path := newFile(t)
	share(t, path)
	if held := look(t, path); held != nil {
		t.Errorf("two look, and one sees %v", held)
	}
	var held *HeldError
	if _, err := Lock(path); !errors.As(err, &held) {
		t.Errorf("Lock while somebody looks without end: %v", err)
	}
}

// TestLockWaitsForLook: whoever locks while somebody looks tries again.
func TestLockWaitsForLook(t *testing.T) {
	path := newFile(t)
	looking := share(t, path)
	tries := 0
	l, err := lockWith(path, func(f *os.File) (bool, error) {
		if tries++; tries == 4 {
			looking.Close() // the look is over
		}
		return tryLock(f)
	})
	if err != nil || tries != 4 {
		t.Fatalf("after %d tries: %v", tries, err)
	}
	l.Unlock()
}

// TestLookKeepsNobodyOut locks again and again while somebody looks.
func TestLookKeepsNobodyOut(t *testing.T) {
	path := newFile(t)
	stop := make(chan struct{})
	var looking sync.WaitGroup
	looking.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, _, err := Look(path); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 50 {
		l, err := Lock(path)
		if err != nil {
			t.Error(err)
			break
		}
		l.Unlock()
	}
	close(stop)
	looking.Wait()
}
