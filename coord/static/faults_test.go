package static

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/filesys"
)

// held is a coordinator that holds worker ID 7 with the window (0, 4000].
func held(t *testing.T) (c *Coordinator, g coord.Grant, path string) {
	t.Helper()
	path = statePathOf(t)
	c = open(t, Options{State: path, AcceptFresh: true})
	return c, acquire(t, c, request("a", 1000)), path
}

// TestFailedWrite lets each step of saving fail: the window does not grow until a
// later renewal has gone through, and no half-written file stays.
func TestFailedWrite(t *testing.T) {
	full := &os.PathError{Op: "write", Path: "state.tmp", Err: syscall.ENOSPC}
	advice := ""
	if filesys.DiskFull(full) { // where the system says so
		advice = "; make room on that disk, or raise this user's quota; service then resumes by itself"
	}
	for _, tt := range []struct {
		name   string
		breaks func(*storage)
		want   string
		stored int64 // what the file says afterwards
	}{
		{"sync", func(s *storage) { s.sync = func(*os.File) error { return full } }, "write state file: " + full.Error(), 4000},
		{"rename", func(s *storage) { s.rename = func(string, string) error { return full } }, "replace state file: " + full.Error(), 4000},
		// The file has its new content, but a power failure may take it back.
		{"folder", func(s *storage) { s.syncDir = func(string) error { return full } }, "sync the folder of the state file: " + full.Error(), 5000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, g, path := held(t)
			tt.breaks(&c.storage)
			_, err := c.Renew(t.Context(), g, 5000)
			wantError(t, err, syscall.ENOSPC, "renew worker ID 7 of namespace \""+c.opts.Namespace+"\": "+tt.want+advice)
			if coord.Permanent(err) || errors.Is(err, coord.ErrLeaseLost) {
				t.Errorf("%v is definite; the holder should go on", err)
			}
			if r := stored(t, path); r.NotAfter != tt.stored {
				t.Errorf("stored is %d; want %d", r.NotAfter, tt.stored)
			}
			if _, err := os.Stat(path + ".tmp"); err == nil {
				t.Error("the temporary file stayed")
			}
			// Mended, the same renewal has to write, even where the file reads as wanted.
			syncs := 0
			c.storage = realStorage()
			c.storage.syncDir = func(dir string) error { syncs++; return filesys.SyncDir(dir) }
			window(t, renew(t, c, g, 5000), 0, 5000)
			window(t, renew(t, c, g, 5000), 0, 5000) // nothing new, nothing to write
			if syncs != 1 {
				t.Errorf("the folder was synced %d times; want once", syncs)
			}
		})
	}
}

func TestFailedAcquireHoldsNothing(t *testing.T) {
	path := statePathOf(t)
	c := open(t, Options{State: path, AcceptFresh: true})
	c.storage.sync = func(*os.File) error { return syscall.EIO }
	if _, err := c.Acquire(t.Context(), request("a", 1000)); !errors.Is(err, syscall.EIO) {
		t.Fatalf("error is %v; want %v", err, syscall.EIO)
	}
	c.storage = realStorage()
	window(t, acquire(t, c, request("b", 1000)), 0, 4000)
}

// TestFailedRelease: what cannot be trimmed is free all the same, and keeps its
// window.
func TestFailedRelease(t *testing.T) {
	c, g, _ := held(t)
	c.storage.sync = func(*os.File) error { return syscall.EIO }
	if err := c.Release(t.Context(), g, 1500); !errors.Is(err, syscall.EIO) {
		t.Fatalf("error is %v; want %v", err, syscall.EIO)
	}
	c.storage = realStorage()
	if err := c.Release(t.Context(), g, 1500); !errors.Is(err, coord.ErrLeaseLost) {
		t.Fatalf("a second release: %v", err)
	}
	window(t, acquire(t, c, request("b", 1000)), 4000, 4000)
}

// TestReleaseOfDeletedFile: lost is lost, and the worker ID is free.
func TestReleaseOfDeletedFile(t *testing.T) {
	c, g, path := held(t)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := c.Release(t.Context(), g, 1500); !errors.Is(err, coord.ErrLeaseLost) {
		t.Fatalf("error is %v; want %v", err, coord.ErrLeaseLost)
	}
	window(t, acquire(t, c, request("b", 1000)), 4000, 4000)
}

// TestReleaseTrims: to the last tick stamped, not below the window, and the lock
// file names nobody afterwards.
func TestReleaseTrims(t *testing.T) {
	c, g, path := held(t)
	for _, tt := range []struct{ last, want int64 }{{1500, 1500}, {10, 1500}, {9000, 4500}} {
		if err := c.Release(t.Context(), g, tt.last); err != nil {
			t.Fatal(err)
		}
		if r := stored(t, path); r.NotAfter != tt.want || r.Token != "" || r.Generation != g.Generation {
			t.Errorf("%v was released at %d, stored is %+v", g, tt.last, r)
		}
		untouched(t, path+".lock", "")
		g = acquire(t, c, request(rand.Text(), 1500))
	}
}

// TestLayoutReplaced: a file of another layout under a holder is not written to,
// and cannot be acquired with the old layout.
func TestLayoutReplaced(t *testing.T) {
	c, g, path := held(t)
	r := stored(t, path)
	r.Layout = "layout-b"
	if err := realStorage().save(path, r); err != nil {
		t.Fatal(err)
	}
	_, err := c.Renew(t.Context(), g, 5000)
	wantError(t, err, coord.ErrLeaseLost, "coord: lease lost: worker ID 7, generation 1, window (0, 4000]: the state file "+path+" was replaced: it has layout layout-b now")
	_, err = c.Acquire(t.Context(), request("b", 1000))
	wantError(t, err, coord.ErrLayoutMismatch, `state file "`+path+`": coord: layout mismatch: namespace "`+c.opts.Namespace+`" has layout layout-b, this generator has layout-a; use the stored layout or another namespace`)
}

// TestLeftovers: a temporary file from a crash is neither read nor in the way.
func TestLeftovers(t *testing.T) {
	c, g, path := held(t)
	write(t, path+".tmp", `{"version":1,"notAfter":`)
	window(t, renew(t, c, g, 5000), 0, 5000)
	if _, err := os.Stat(path + ".tmp"); err == nil {
		t.Error("the temporary file stayed")
	}
}

// TestFileTakenAway is what happens to a holder whose files are deleted, replaced
// or edited under it.
func TestFileTakenAway(t *testing.T) {
	change := func(old, new string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			t.Helper()
			b, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(b), old) {
				t.Fatalf("%q is not in %q, %v", old, b, err)
			}
			write(t, path, strings.Replace(string(b), old, new, 1))
		}
	}
	remove := func(suffix string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			t.Helper()
			if err := os.Remove(path + suffix); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tt := range []struct {
		name  string
		do    func(t *testing.T, path string)
		kind  error
		want  string // with PATH for the path
		again [2]int64
	}{
		{"deleted", remove(""), coord.ErrLeaseLost, "the state file PATH was deleted", [2]int64{5500, 5500}},
		{"lock deleted", remove(".lock"), coord.ErrLeaseLost, "the lock file PATH.lock was deleted", [2]int64{5000, 5500}},
		{"backup restored", change(`"generation":1`, `"generation":9`), coord.ErrLeaseLost, "the state file PATH was replaced: it has generation 9 now", [2]int64{5000, 5500}},
		{"another holder's", change(`"token":"a"`, `"token":"x"`), coord.ErrLeaseLost, "the state file PATH was replaced: it has generation 1 now", [2]int64{5000, 5500}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "lock deleted" && runtime.GOOS == "windows" {
				t.Skip("skipped: Windows does not delete a file that is open")
			}
			c, g, path := held(t)
			g = renew(t, c, g, 5000)
			tt.do(t, path)
			_, err := c.Renew(t.Context(), g, 6000)
			wantError(t, err, tt.kind, "coord: lease lost: worker ID 7, generation 1, window (0, 5000]: "+strings.ReplaceAll(tt.want, "PATH", path))
			// Lost is lost, but what the process knows it does not forget.
			if _, err := c.Renew(t.Context(), g, 6000); !errors.Is(err, coord.ErrLeaseLost) {
				t.Errorf("another renewal: %v", err)
			}
			c.opts.AcceptFresh = false
			window(t, acquire(t, c, request("b", 2500)), tt.again[0], tt.again[1])
		})
	}
}

// TestDamagedUnderHolder: nothing is overwritten, the holder goes on inside its
// window, and service resumes when the file is put back.
func TestDamagedUnderHolder(t *testing.T) {
	c, g, path := held(t)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, "garbage")
	_, err = c.Renew(t.Context(), g, 5000)
	if !errors.Is(err, coord.ErrInvalid) || errors.Is(err, coord.ErrLeaseLost) {
		t.Errorf("error is %v; want %v, not definite", err, coord.ErrInvalid)
	}
	untouched(t, path, "garbage")
	write(t, path, string(good))
	window(t, renew(t, c, g, 5000), 0, 5000)
}

// TestEditedWindow: a lower NotAfter on disk is raised again, a higher one kept.
func TestEditedWindow(t *testing.T) {
	c, g, path := held(t)
	for _, tt := range []struct{ edit, until, want int64 }{{10, 3000, 4000}, {6000, 5000, 6000}} {
		r := stored(t, path)
		r.NotAfter = tt.edit
		if err := realStorage().save(path, r); err != nil {
			t.Fatal(err)
		}
		window(t, renew(t, c, g, tt.until), 0, tt.want)
		if r := stored(t, path); r.NotAfter != tt.want {
			t.Errorf("stored is %d; want %d", r.NotAfter, tt.want)
		}
	}
	r := stored(t, path)
	r.NotAfter = 1 << 41
	if err := realStorage().save(path, r); err != nil {
		t.Fatal(err)
	}
	_, err := c.Renew(t.Context(), g, 7000)
	wantError(t, err, coord.ErrInvalid, `coord: invalid state file "`+path+`": notAfter is 2199023255552; the layout ends at tick 2199023255551`)
}

// TestContextEndsDuringWrite: the caller gets its answer, and what is under way is
// finished or undone behind it.
func TestContextEndsDuringWrite(t *testing.T) {
	path, ns := statePathOf(t), rand.Text()
	c := open(t, Options{Namespace: ns, State: path, AcceptFresh: true})
	writing, proceed := make(chan struct{}), make(chan struct{})
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
	// The next call waits for its turn, and for no longer than its own context.
	impatient, stop := context.WithCancel(t.Context())
	go func() {
		_, err := c.Acquire(impatient, request("b", 1000))
		answer <- err
	}()
	stop()
	if err := <-answer; !errors.Is(err, context.Canceled) {
		t.Fatalf("Acquire while another is under way: %v", err)
	}
	proceed <- struct{}{} // the acquisition is done, nobody has heard, it is undone
	<-writing
	proceed <- struct{}{}
	go func() {
		for range 2 {
			<-writing
			proceed <- struct{}{}
		}
	}()
	g := acquire(t, c, request("a", 1000))
	if g.Generation != 2 {
		t.Errorf("granted was %v; want generation 2, after the one that was undone", g)
	}
	window(t, renew(t, c, g, 9000), 0, 9000)
}

func TestCloseWaitsAndFrees(t *testing.T) {
	path, ns := statePathOf(t), rand.Text()
	c := open(t, Options{Namespace: ns, State: path, AcceptFresh: true})
	acquire(t, c, request("a", 1000))
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	// The holder may go on to the end of its window, so nothing is trimmed.
	next := open(t, Options{Namespace: ns, State: path})
	window(t, acquire(t, next, request("b", 1000)), 4000, 4000)
}
