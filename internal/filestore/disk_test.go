package filestore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/filelock"
	"github.com/unalike-id/unalike/internal/filesys"
	"github.com/unalike-id/unalike/internal/protocol"
)

// newStore returns the store of a file on a machine that was started for the first time.
func newStore(path string) *Store {
	b := &bootClock{since: time.Hour}
	return New(Options{Path: path, Namespace: "n", Clock: clock.System(), Leases: b.on("m", "1")})
}

func newPath(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "ids")
}

// bump makes a change: it makes the namespace, or raises its floor by a tick.
func bump(ctx context.Context, s *Store) (floor int64, err error) {
	op, err := s.Open("", time.Second, 0)
	if err != nil {
		return 0, err
	}
	defer op.End()
	meta := protocol.NewMeta(coord.Space{
		Fingerprint: "f", Scale: clock.Scale{Unit: 1000},
		LastTick: 1 << 40, Capacity: 16,
	})
	sv, err := op.Survey(ctx, protocol.Ask{New: func(protocol.Span) protocol.Meta { return meta }})
	if err != nil || sv.Made {
		return 0, err
	}
	meta = sv.Meta.Record
	meta.Floor++
	out, err := op.Commit(ctx, protocol.Change{Before: &protocol.View{Meta: sv.Meta}, Meta: &meta})
	if err == nil && !out.Done {
		err = errors.New("refused")
	}
	return meta.Floor, err
}

// must makes a change, and checks the floor afterwards.
func must(t *testing.T, s *Store, want int64) {
	t.Helper()
	if floor, err := bump(t.Context(), s); err != nil || floor != want {
		t.Fatalf("the floor is %d, %v; want %d", floor, err, want)
	}
}

// wantError checks that an error is of a kind and has all of the texts.
func wantError(t *testing.T, err, kind error, texts ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("error is %v; want %v", err, kind)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error is %v; want it to have %q", err, text)
		}
	}
}

// TestFailedWrite lets each step of a write fail. The caller is told, no half-written file stays,
// and the next call writes a new file before it believes what it reads, even if it only looks.
func TestFailedWrite(t *testing.T) {
	full := &os.PathError{Op: "write", Path: "ids.tmp", Err: syscall.ENOSPC}
	advice := ""
	if filesys.DiskFull(full) { // where the system says so
		advice = "; make room on that disk, or raise this user's quota; service then resumes by itself"
	}
	for name, tt := range map[string]struct {
		breaks func(*disk)
		want   string
	}{
		"sync":   {func(k *disk) { k.sync = func(*os.File) error { return full } }, full.Error()},
		"rename": {func(k *disk) { k.rename = func(string, string) error { return full } }, full.Error()},
		"folder": {func(k *disk) { k.syncDir = func(string) error { return full } }, full.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			path := newPath(t)
			s := newStore(path)
			must(t, s, 0)
			tt.breaks(&s.disk)
			_, err := bump(t.Context(), s)
			wantError(t, err, syscall.ENOSPC, tt.want+advice)
			if coord.Permanent(err) {
				t.Errorf("%v is definite", err)
			}
			if _, err := os.Stat(path + ".tmp"); err == nil {
				t.Error("the temporary file stayed")
			}
			op, _ := s.Open("", time.Second, 0)
			if _, err := op.Look(t.Context(), 0, ""); err == nil {
				t.Error("what may not be on the disk was believed")
			}
			syncs := 0
			s.disk = realDisk()
			s.disk.syncDir = func(dir string) error { syncs++; return filesys.SyncDir(dir) }
			for range 2 {
				if _, err := op.Look(t.Context(), 0, ""); err != nil || syncs != 1 {
					t.Errorf("a look: %v, and the folder was synced %d times; want once", err, syncs)
				}
			}
		})
	}
}

// TestSave_MountedFile: a file that is mounted alone can never be replaced, which is final.
func TestSave_MountedFile(t *testing.T) {
	busy := &os.LinkError{Op: "rename", Old: "ids.tmp", New: "ids", Err: syscall.EBUSY}
	if !filesys.Busy(busy) {
		t.Skip("skipped: this system mounts no single files")
	}
	s := newStore(newPath(t))
	must(t, s, 0)
	s.disk.rename = func(string, string) error { return busy }
	_, err := bump(t.Context(), s)
	wantError(t, err, coord.ErrInvalid, s.path, "is mounted alone", "mount its folder instead")
}

// TestOneSync: a change costs one sync of a file and one of its folder, and a look none.
func TestOneSync(t *testing.T) {
	s := newStore(newPath(t))
	must(t, s, 0)
	var files, folders int
	s.disk.sync = func(f *os.File) error { files++; return f.Sync() }
	s.disk.syncDir = func(dir string) error { folders++; return filesys.SyncDir(dir) }
	must(t, s, 1) // a survey, and a change
	if files != 1 || folders != 1 {
		t.Errorf("%d files and %d folders were synced", files, folders)
	}
}

// TestLeftovers: a temporary file from a crash is neither read nor in the way.
func TestLeftovers(t *testing.T) {
	path := newPath(t)
	if err := os.WriteFile(path+".tmp", []byte("half of"), 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, newStore(path), 0)
	must(t, newStore(path), 1)
}

// TestLockDeleted: who deletes the lock file lets another process in. Nothing that it has written
// is written over, and what it may have overlooked is not believed to be there.
func TestLockDeleted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("skipped: Windows does not delete a file that is open")
	}
	path := newPath(t)
	s := newStore(path)
	must(t, s, 0)
	another := func() { // another process
		if err := os.Remove(path + ".lock"); err != nil {
			t.Error(err)
		}
		if _, err := bump(t.Context(), newStore(path)); err != nil {
			t.Error(err)
		}
	}
	s.disk.sync = func(f *os.File) error { another(); return f.Sync() }
	_, err := bump(t.Context(), s)
	wantError(t, err, errLockDeleted)
	s.disk = realDisk()
	s.disk.syncDir = func(dir string) error { another(); return filesys.SyncDir(dir) }
	_, err = bump(t.Context(), s)
	wantError(t, err, errLockDeleted)
	s.disk = realDisk()
	must(t, s, 3) // after two of the other process
}

// TestStoppedInsideTheLock: the others name the process, and go on when it does. Who only looks
// does not wait.
func TestStoppedInsideTheLock(t *testing.T) {
	path := newPath(t)
	s := newStore(path)
	lock, err := filelock.Lock(path + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err = bump(ctx, s)
		cancel()
		wantError(t, err, context.DeadlineExceeded, path+".lock is locked by this process",
			"if that process is stopped, let it go on or end it")
	}
	if op, _ := s.Open("", time.Second, 0); runtime.GOOS != "windows" {
		if _, err := op.Look(t.Context(), 0, ""); err != nil {
			t.Error(err)
		}
	}
	lock.Unlock()
	must(t, s, 0)
}

// TestHungDisk: a call returns when its context ends, and says why. One goroutine waits for the
// disk, and what it has begun is seen to its end.
func TestHungDisk(t *testing.T) {
	s := newStore(newPath(t))
	must(t, s, 0)
	hung, answers := make(chan struct{}, 1), make(chan struct{})
	s.disk.sync = func(f *os.File) error {
		hung <- struct{}{}
		<-answers
		return f.Sync()
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-hung; cancel() }()
	_, err := bump(ctx, s)
	wantError(t, err, context.Canceled, "its disk has not answered in time")
	before := runtime.NumGoroutine()
	for range 10 {
		_, err := bump(ctx, s)
		wantError(t, err, context.Canceled, "its disk has not answered in time")
	}
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines, and then %d", before, n)
	}
	s.mu.Lock()
	if len(s.queue) > 0 {
		t.Errorf("%d calls wait that were given up", len(s.queue))
	}
	s.mu.Unlock()
	close(answers)
	s.turn <- struct{}{} // until the write has ended
	s.disk = realDisk()
	<-s.turn
	must(t, s, 2)
}

func TestBadPath(t *testing.T) {
	good := newPath(t)
	must(t, newStore(good), 0)
	dir := filepath.Dir(good)
	for _, tt := range []struct {
		path, want string
		kind       error
	}{
		{filepath.Join(dir, "none", "ids"), `its folder does not exist; create it: lstat ` +
			filepath.Join(dir, "none"), fs.ErrNotExist},
		{filepath.Join(good, "ids"), `its folder does not exist; create it`, coord.ErrInvalid},
		{dir, `unalike: invalid: state file "` + dir +
			`" is not a regular file but d---------; name a file`, coord.ErrInvalid},
	} {
		_, err := bump(t.Context(), newStore(tt.path))
		if !errors.Is(err, coord.ErrInvalid) || !errors.Is(err, tt.kind) ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %s", tt.path, err, tt.want)
		}
	}
	if _, err := bump(t.Context(), newStore("/proc/x.ids")); runtime.GOOS == "linux" &&
		(!errors.Is(err, coord.ErrInvalid) || strings.Contains(err.Error(), "create the folder")) {
		t.Errorf("in /proc: %v", err) // the advice to create a folder that exists helps nobody
	}
	s := newStore(newPath(t))
	s.disk.network = func(*os.File) (string, error) { return "NFS", nil }
	_, err := bump(t.Context(), s)
	wantError(t, err, coord.ErrInvalid, "is on a network file system, NFS, where a lock may keep "+
		"nobody out; name a file on a disk of this machine")
}

// TestSymlink: the same file by another name has the same lock, and the link stays one.
func TestSymlink(t *testing.T) {
	path, link := newPath(t), newPath(t)+"-link"
	if err := errors.Join(os.Symlink(path, link),
		os.Symlink(filepath.Dir(path), link+"-dir")); err != nil {
		t.Skipf("skipped: symbolic links cannot be made here: %v", err)
	}
	_, err := bump(t.Context(), newStore(link))
	wantError(t, err, coord.ErrInvalid, "is a symbolic link that leads nowhere")
	must(t, newStore(path), 0)
	must(t, newStore(link), 1)
	must(t, newStore(filepath.Join(link+"-dir", "ids")), 2)
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is no link any more: %v, %v", info, err)
	}
}
