package static

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/unalike-id/unalike/coord"
)

const (
	// maxLooks is how often somebody who only looks is waited for.
	maxLooks = 100
	// lookTime is how long that takes each time.
	lookTime = time.Millisecond
)

// lockFile is a file whose lock says that a worker ID is held. The operating
// system frees the lock when the process ends, however it ends.
//
// It is not the state file, because that is replaced by renaming another file
// over it: a lock belongs to the file and not to its name, so whoever opened the
// new file would find it free. The lock file is never renamed and never deleted.
type lockFile struct {
	path string
	file *os.File
}

// lock locks the file at path, which it creates if need be. If another holds the
// lock, the error wraps [coord.ErrNoWorkerID] and names that process.
func lock(path string) (*lockFile, error) { return lockWith(path, tryLock) }

func lockWith(path string, try func(*os.File) (bool, error)) (*lockFile, error) {
	// Somebody may delete the file between opening and locking it. Its lock would
	// then keep nobody out, so look again; more than a few times is no accident.
	for deletions, looks := 0, 0; deletions < 10; {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return nil, fileError("open lock file", err)
		}
		l := &lockFile{path: path, file: f}
		ok, err := try(f)
		if err == nil && ok {
			if l.current() {
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
		return nil, fmt.Errorf("%w: %s is locked by %s; stop it or give this process another worker ID", coord.ErrNoWorkerID, path, holder(f))
	}
	return nil, fmt.Errorf("lock %s: the file is deleted again and again; leave it in place", path)
}

// onlyLooking tells whether whoever keeps f from being locked holds no worker ID but
// is in lockedBy, which takes microseconds.
func onlyLooking(f *os.File) bool {
	ok, err := tryShare(f)
	return err == nil && ok // closing the file gives it back
}

// lockedBy tells who holds the lock of the file at path, and since when; nobody if
// who is empty. It takes a shared lock for a moment: whoever wants the worker ID at
// that moment sees that it is not held, and tries again.
func lockedBy(path string) (who string, since time.Time, err error) {
	f, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", time.Time{}, nil // holders make it first
	case err != nil:
		return "", time.Time{}, fileError("open lock file", err)
	}
	defer f.Close()
	if free, err := tryShare(f); err != nil || free {
		return "", time.Time{}, err
	}
	info, err := f.Stat()
	if err != nil {
		return "", time.Time{}, fmt.Errorf("look at lock file: %w", err)
	}
	return holder(f), info.ModTime(), nil // it was signed when it was locked
}

// current tells whether the locked file is still the one that the path names.
func (l *lockFile) current() bool {
	mine, err1 := l.file.Stat()
	named, err2 := os.Stat(l.path)
	return err1 == nil && err2 == nil && os.SameFile(mine, named)
}

// sign writes who holds the lock, for the refusals of others. It is of no
// consequence if it fails.
func (l *lockFile) sign(s string) {
	if l.file.Truncate(0) == nil {
		_, _ = l.file.WriteAt([]byte(s), 0)
	}
}

// unlock frees the lock. The file stays.
func (l *lockFile) unlock() {
	l.sign("")
	_ = l.file.Close() // nothing was written that matters; closing frees the lock
}

// holder reads who holds the lock of f.
func holder(f *os.File) string {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 32))
	if err == nil {
		if pid, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && pid > 0 {
			if pid == os.Getpid() {
				return fmt.Sprintf("this process, %d", pid)
			}
			return fmt.Sprintf("process %d", pid)
		}
	}
	return "another process"
}
