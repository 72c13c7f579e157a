package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/etcd"
	"github.com/unalike-id/unalike/internal/filelock"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// TestFolderDeleted: the folder is deleted under a process that runs the server and
// one that has joined, which holds a worker ID. Whoever makes the folder again, the
// holder notices, and nothing is granted until its window is over.
func TestFolderDeleted(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	host := startChild(t, dir, "stay")
	host.Line(t)
	c := openFolder(t, dir, "children")
	old := address(c)
	g := mustAcquire(t, c, request(2))
	deleteFolder(t, dir)
	newcomer := openFolder(t, dir, "children")
	eventually(t, "the holder follows", func() bool {
		return address(c) != old && address(c) == address(newcomer)
	})
	if r, err := c.Renew(within(t), g, g.NotAfter+1000); err == nil && r.NotBefore <= g.NotAfter {
		safetytest.Of(t).Errorf("renewed to %v after its window %v was lost", r, g)
	}
	req := request(2)
	floor := req.Now + req.Scale.TicksDown((etcd.MaxHorizon - callTime).Microseconds())
	if n, err := newcomer.Acquire(within(t), req); !errors.Is(err, coord.ErrQuarantined) &&
		(err != nil || n.NotBefore < floor) {
		safetytest.Unless(t, err).Errorf("granted was %v, %v; want nothing below %d", n, err, floor)
	}
}

// deleteFolder deletes the folder of a server that runs and may write to it meanwhile. It is
// gone at once, so that nothing is deleted of the one that somebody makes in its place.
func deleteFolder(t *testing.T, dir string) {
	t.Helper()
	gone := dir + ".gone"
	if err := os.Rename(dir, gone); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the folder is deleted", func() bool { return os.RemoveAll(gone) == nil })
}

// TestServerNoticesDeletion: a server whose folder is deleted says so at once, and not when etcd
// misses a file.
func TestServerNoticesDeletion(t *testing.T) {
	t.Parallel()
	f := folder{newDir(t)}
	if err := f.prepare(); err != nil {
		t.Fatal(err)
	}
	lock, err := filelock.Lock(f.file(nameLock))
	if err != nil {
		t.Fatal(err)
	}
	s, err := host(within(t), f, lock)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	}()
	if err := s.failed(); err != nil {
		t.Errorf("before: %v", err)
	}
	deleteFolder(t, f.path)
	if err := s.failed(); err == nil || !strings.Contains(err.Error(), "the folder was deleted") {
		t.Errorf("the folder was deleted: %v", err)
	}
}

// TestMarkLost: somebody deletes the file that says what the folder is, which looks
// old enough, or puts back the one that the first start began with. Whoever takes the
// folder over must not take its data for half-made ones.
func TestMarkLost(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		lose func(f folder, m mark) error
		want string
	}{
		{"deleted", func(f folder, _ mark) error {
			return os.Remove(f.file(nameMark))
		}, `it holds "etcd" and is not the folder of an embedded etcd (there is no folder.json)`},
		{"older", func(f folder, m mark) error {
			m.Served = false
			return f.write(nameMark, m)
		}, `it holds "etcd", which was in use, and folder.json says that it never was`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := folder{newDir(t)}
			first := openFolder(t, f.path, "n")
			joined := openFolder(t, f.path, "n")
			g := mustAcquire(t, first, request(1))
			m, err := f.readMark()
			if err = errors.Join(err, tt.lose(f, m), first.Close()); err != nil {
				t.Fatal(err)
			}
			refused := func(err error) bool {
				return errors.Is(err, coord.ErrInvalid) && strings.Contains(err.Error(), tt.want) &&
					!strings.Contains(err.Error(), m.Folder)
			}
			eventually(t, "the takeover is refused", func() bool {
				trouble := joined.trouble.Load()
				return trouble != nil && refused(*trouble)
			})
			// Once it is back, service resumes with what was granted.
			if err := f.write(nameMark, m); err != nil {
				t.Fatal(err)
			}
			eventually(t, "somebody serves the folder", func() bool { return address(joined) != "" })
			if slots, err := joined.List(within(t)); err != nil || len(slots) != 1 ||
				slots[0].NotAfter != g.NotAfter {
				safetytest.Unless(t, err).Errorf("slots are %+v, %v; want the one of %v", slots, err, g)
			}
			// Nobody else is there who could take over: New says the same.
			if err := errors.Join(joined.Close(), tt.lose(f, m)); err != nil {
				t.Fatal(err)
			}
			if _, err := New(within(t), f.path, "n", Options{}); !refused(err) {
				t.Errorf("New: %v; want an error with %q", err, tt.want)
			}
		})
	}
}

// TestFolderRefused: what is not ours stays as it is.
func TestFolderRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		prepare func(dir string) error
		want    string
	}{
		{"other file", func(dir string) error {
			return put(dir, "letter.txt", "dear")
		}, `it holds "letter.txt" and is not the folder of an embedded etcd (there is no folder.json); ` +
			`name an empty folder, or one that does not exist`},
		{"no mark", func(dir string) error {
			return os.Mkdir(filepath.Join(dir, nameData), 0o700)
		}, `it holds "etcd" and is not`},
		{"damaged mark", func(dir string) error {
			return put(dir, nameMark, "{")
		}, "read folder.json: unalike: invalid: folder.json is damaged"},
		{"mark without a field", func(dir string) error {
			return put(dir, nameMark, `{"version":1,"folder":"x"}`+"\n")
		}, "folder.json is damaged: a field is missing, given twice, out of order, or in a form that " +
			"this driver does not write"},
		{"newer mark", func(dir string) error {
			return put(dir, nameMark, `{"version":2,"folder":"x","anew":1}`)
		}, "folder.json has version 2, or names no folder; this program knows version 1"},
		{"file", func(dir string) error {
			return errors.Join(os.Remove(dir), put(filepath.Dir(dir), filepath.Base(dir), ""))
		}, "name a folder"},
	} {
		t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
			dir := newDir(t)
			if err := errors.Join(os.Mkdir(dir, 0o700), tt.prepare(dir)); err != nil {
				t.Fatal(err)
			}
			_, err := New(within(t), dir, "n", Options{})
			if !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), tt.want) ||
				!strings.Contains(err.Error(), dir) {
				t.Errorf("error is %v; want one with %q", err, tt.want)
			}
		})
	}
	if _, err := New(within(t), "", "n", Options{}); !errors.Is(err, coord.ErrInvalid) {
		t.Errorf("no folder: %v", err)
	}
	dir := newDir(t)
	if _, err := New(within(t), dir, "a/b", Options{}); !errors.Is(err, coord.ErrInvalid) {
		t.Errorf("bad namespace: %v", err)
	}
	if _, err := New(within(t), dir, "n", Options{SkewBound: -1}); !errors.Is(err, coord.ErrInvalid) {
		t.Errorf("bad option: %v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a call that was refused made the folder")
	}
}

func put(dir, name, content string) error {
	return os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600)
}

// TestStalePost: what a crash left behind leads nobody to another folder's server.
func TestStalePost(t *testing.T) {
	t.Parallel()
	dir, other := newDir(t), newDir(t)
	foreign := openFolder(t, other, "n")
	if c := openFolder(t, dir, "n"); c.Close() != nil {
		t.Fatal("it does not close")
	}
	f := folder{dir}
	m, err := f.readMark()
	if err != nil {
		t.Fatal(err)
	}
	stale := post{Version: formatVersion, Folder: m.Folder, Address: address(foreign), PID: 1 << 30}
	if err := f.write(namePost, stale); err != nil {
		t.Fatal(err)
	}
	lock, err := f.lock()
	if err != nil {
		t.Fatal(err)
	}
	// Somebody has the folder and has not got as far as saying where.
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err = New(ctx, dir, "n", Options{})
	want := fmt.Sprintf("embed: folder %s: its etcd belongs to this process, %d, which does not "+
		"answer; end that process: ", dir, os.Getpid())
	if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error is %v; want %s", err, want)
	}
	lock.Unlock()
	c := openFolder(t, dir, "n")
	if address(c) == address(foreign) {
		safetytest.Of(t).Error("joined the server of another folder")
	}
	// A client that does have the wrong address is not let in.
	foreign.secret.set(m.Folder)
	if _, err := foreign.List(within(t)); err == nil ||
		!strings.Contains(err.Error(), "this is the server of another folder") {
		t.Errorf("with the name of another folder: %v", err)
	}
}

// TestDamagedData: data that etcd cannot read is an error, and stays as it is.
func TestDamagedData(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	if c := openFolder(t, dir, "n"); c.Close() != nil {
		t.Fatal("it does not close")
	}
	logs, err := filepath.Glob(filepath.Join(dir, nameData, "member", "wal", "*.wal"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("%v, %v", logs, err)
	}
	if err := os.Truncate(logs[0], 0); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		runtime.GC() // must not free the lock of an etcd that is half dead
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err = New(ctx, dir, "n", Options{})
		cancel()
		if err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("error is %v", err)
		}
	}
	if info, err := os.Stat(logs[0]); err != nil || info.Size() != 0 {
		t.Errorf("the damaged file was touched: %v", err)
	}
}
