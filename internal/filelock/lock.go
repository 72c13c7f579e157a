package filelock

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// ErrUnsupported says that this operating system has no locks that this package
// knows.
var ErrUnsupported = errors.New("file locks are not available")

// HeldError says that somebody else has the lock.
type HeldError struct {
	Path string
	PID  int // of the process that has it; 0: not known
}

// Error says which file is locked, and by whom.
func (e *HeldError) Error() string {
	return fmt.Sprintf("%s is locked by %s", e.Path, e.Holder())
}

// Holder names the process that has the lock.
func (e *HeldError) Holder() string {
	switch e.PID {
	case 0:
		return "another process"
	case os.Getpid():
		return fmt.Sprintf("this process, %d", e.PID)
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

func lockFile(path string, own bool, mode os.FileMode, try func(*os.File) (bool, error)) (*File, error) {
	// Somebody may delete the file between opening and locking it. Its lock would
	// then keep nobody out, so look again; more than a few times is no accident.
	for deletions, looks := 0, 0; deletions < 10; {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, mode)
		if err != nil {
			return nil, err
		}
		l := &File{path: path, file: f, own: own}
		ok, err := try(f)
		if err == nil && ok {
			if l.Current() {
				l.sign(strconv.Itoa(os.Getpid()) + "\n")
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
		held := &HeldError{Path: path}
		if !own {
			held.PID = holder(f)
		}
		return nil, held
	}
	return nil, fmt.Errorf("lock %s: the file is deleted again and again; leave it in place", path)
}

// File returns the file, which is open for reading and writing.
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

// Unlock frees the lock. The file stays.
func (l *File) Unlock() {
	l.sign("")
	_ = l.file.Close() // nothing was written that matters; closing frees the lock
}

// sign writes who holds the lock, for the refusals of others. It is of no
// consequence if it fails.
func (l *File) sign(s string) {
	if l.own {
		return
	}
	if l.file.Truncate(0) == nil {
		_, _ = l.file.WriteAt([]byte(s), 0)
	}
}

// holder reads which process holds the lock of f; 0: the file does not say.
func holder(f *os.File) int {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 32))
	if err != nil {
		return 0
	}
	return signature(b)
}

// signature reads what sign has written; 0: it is something else.
func signature(b []byte) int {
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid < 0 {
		return 0
	}
	return pid
}
