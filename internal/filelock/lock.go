package filelock

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/unalike-id/unalike/internal/filesys"
)

// ErrUnsupported says that this operating system has no locks that this package
// knows.
var ErrUnsupported = errors.New("file locks are not available")

// HeldError says that somebody else has the lock.
type HeldError struct {
	Path string
	PID  int // of the process that has it, as that one sees it; 0: not known

	here bool // it is this process
}

// Error says which file is locked, and by whom.
func (e *HeldError) Error() string {
	return fmt.Sprintf("%s is locked by %s", e.Path, e.Holder())
}

// Holder names the process that has the lock.
func (e *HeldError) Holder() string {
	switch {
	case e.PID == 0:
		return "another process"
	case e.here:
		return fmt.Sprintf("this process, %d", e.PID)
	case e.PID == os.Getpid():
		return fmt.Sprintf("process %d of another container", e.PID)
	}
	return fmt.Sprintf("process %d", e.PID)
}

// File is a file that is locked. Its methods are not for concurrent use.
type File struct {
	path string
	file *os.File
	own  bool // what is in the file is the caller's
}

// Lock locks the file at path, which it creates if need be, and does not wait. If
// somebody else has the lock, the error is a [*HeldError]; errors of opening the file
// are those of package os.
//
// A file that is replaced by renaming must not be its own lock file: a lock belongs
// to the file and not to its name, so whoever opened the new file would find it free.
// The lock file is never renamed and never deleted.
func Lock(path string) (*File, error) { return lockWith(path, tryLock) }

// LockOwn is Lock for a file whose content is the caller's, and which is written in place:
// it is not signed, and the error of a file that is locked does not tell by whom. Nobody but this
// user may read it.
func LockOwn(path string) (*File, error) { return lockFile(path, true, 0o600, tryLock) }

func lockWith(path string, try func(*os.File) (bool, error)) (*File, error) {
	return lockFile(path, false, 0o644, try)
}

func lockFile(path string, own bool, mode os.FileMode,
	try func(*os.File) (bool, error),
) (*File, error) {
	// Somebody may delete the file between opening and locking it. Its lock would
	// then keep nobody out, so look again; more than a few times is no accident.
	for deletions, looks := 0, 0; deletions < 10; {
		f, err := open(path, own, mode)
		if errors.Is(err, fs.ErrExist) {
			deletions++ // or another process has made it since
			continue
		}
		if err != nil {
			return nil, err
		}
		l := &File{path: path, file: f, own: own}
		ok, err := try(f)
		if err == nil && ok {
			if l.Current() {
				l.sign()
				return l, nil
			}
			_ = f.Close()
			deletions++
			continue
		}
		if err == nil && looks < maxLooks && onlyLooking(f) {
			_ = f.Close()
			looks++
			time.Sleep(lookTime)
			continue
		}
		defer f.Close()
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if own {
			return nil, &HeldError{Path: path}
		}
		return nil, holder(path, f)
	}
	return nil, fmt.Errorf("lock %s: the file is deleted again and again; leave it in place", path)
}

// open opens the file, or makes it. Without own, a file that this user may only read will do. A new
// file gets the owner of its directory, so that root can lock it before a service's user does. The
// error is [fs.ErrExist] if another process makes the file at the same time.
func open(path string, own bool, mode os.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrPermission) && !own { //mutant:lock-read-only
		return os.Open(path)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	folder, err := os.Stat(filepath.Dir(path))
	switch {
	case err != nil:
		_ = f.Close()
		return nil, err
	case own:
		filesys.TakeOwner(f, folder)
	default:
		filesys.TakeAccess(f, folder)
	}
	return f, nil
}

// File returns the file, which is open for reading, and for writing if it was locked with LockOwn.
func (l *File) File() *os.File { return l.file }

// Path returns the path of the file.
func (l *File) Path() string { return l.path }

// Current tells whether the locked file is still the one that the path names. If it
// is not, somebody deleted it, and others can have a lock by the same name.
func (l *File) Current() bool {
	mine, err1 := l.file.Stat()
	named, err2 := os.Stat(l.path)
	return err1 == nil && err2 == nil && os.SameFile(mine, named)
}

// Unlock frees the lock, and does not wait for a disk. The file stays.
func (l *File) Unlock() { _ = l.file.Close() }

// signatureSize is the length of a signature. A mark follows it.
const signatureSize = 64

// signed is what this process writes into what it locks. It is random, because containers
// that share a file may have the same process number.
var signed = fmt.Appendf(nil, "%-*s\n", signatureSize-1,
	fmt.Sprint(os.Getpid())+" "+rand.Text())

// sign writes who holds the lock, for the refusals of others. It is of no
// consequence if it fails. The signature stays when the lock is free again. It is written in
// place, so that no crash removes a mark.
func (l *File) sign() {
	if !l.own {
		_, _ = l.file.WriteAt(signed, 0) //mutant:lock-sign
	}
}

// Mark marks the lock file permanently and calls sync with it.
func (l *File) Mark(sync func(*os.File) error) error {
	f, err := os.OpenFile(l.path, os.O_WRONLY, 0) // the locked one may be open for reading only
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt([]byte("used\n"), signatureSize)
	return cmp.Or(err, sync(f))
}

// Marked reports whether [File.Mark] was called for the lock file, by this or another process. It
// returns true if the system does not tell.
func (l *File) Marked() bool {
	info, err := l.file.Stat()
	return err != nil || info.Size() > signatureSize
}

// holder reads which process holds the lock of f.
func holder(path string, f *os.File) *HeldError {
	b, _ := io.ReadAll(io.NewSectionReader(f, 0, signatureSize)) // what cannot be read names nobody
	return &HeldError{path, signature(b), bytes.Equal(b, signed)}
}

// signature reads the number of the process that has signed; 0: it is something else.
func signature(b []byte) int {
	number, _, _ := strings.Cut(strings.TrimSpace(string(b)), " ")
	pid, err := strconv.Atoi(number)
	if err != nil || pid < 0 {
		return 0
	}
	return pid
}
