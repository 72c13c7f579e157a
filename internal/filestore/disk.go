package filestore

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/filelock"
	"github.com/unalike-id/unalike/internal/filesys"
	"github.com/unalike-id/unalike/internal/invalid"
	"github.com/unalike-id/unalike/internal/statefile"
)

// maxFile bounds what is read: a slot has some 400 bytes.
const maxFile = 1 << 30

// disk has the steps that can fail or take long, and between which another process can come, so
// that tests can let them.
type disk struct {
	sync    func(*os.File) error
	rename  func(from, to string) error
	syncDir func(dir string) error
	network func(*os.File) (string, error)
}

func realDisk() disk {
	return disk{
		sync: (*os.File).Sync, rename: os.Rename, syncDir: filesys.SyncDir,
		network: filesys.Network,
	}
}

// load reads the state and deletes the marks that are over. Foreign says that another machine may
// have written it.
func (s *Store) load(foreign bool) (*State, error) {
	d := newState(s.o.Namespace)
	f, err := os.Open(s.path)
	switch {
	case err == nil:
		defer f.Close()
		b, err := io.ReadAll(io.LimitReader(f, maxFile))
		if err != nil {
			return nil, failed(s.path, err)
		}
		if s.state != nil && !foreign && bytes.Equal(b, s.stored) {
			d = s.state.copied()
		} else if d, err = decode(b); err != nil {
			return nil, s.damaged(err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, failed(s.path, err)
	}
	s.missing = f == nil
	if d.Namespace != s.o.Namespace {
		return nil, fmt.Errorf("%w state file %q: it belongs to namespace %q; it is wanted for "+
			"namespace %q; give each a state file of its own", coord.ErrInvalid, s.path, d.Namespace,
			s.o.Namespace)
	}
	err = s.o.Leases.Refresh(s.path, d, foreign)
	if unread := (*fs.PathError)(nil); errors.As(err, &unread) {
		return nil, failed(s.path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w state file %q: %w", coord.ErrInvalid, s.path, err)
	}
	return d, nil
}

// damaged is the error of a file that cannot be read.
func (s *Store) damaged(err error) error {
	then := "a new one is made then, and nothing is granted before the windows are over that it may " +
		"have had"
	if s.o.Mark {
		then = "no number is handed out then until all tags are there again and advanced"
	}
	return fmt.Errorf("%w state file %q: %w; restore it, or move it away (mv %[2]s %[2]s.old): %[4]s",
		coord.ErrInvalid, s.path, err, then)
}

// errLockDeleted says that what was to be written may have been written over.
var errLockDeleted = errors.New("the lock file was deleted meanwhile; leave it in place")

// markLock marks the lock file if that has no mark or the state file is about to be created. Mark
// and lock file are on the disk when it returns nil.
func (s *Store) markLock(lock *filelock.File) error {
	if !s.missing && lock.Marked() { //mutant:file-mark-synced
		return nil
	}
	if err := lock.Mark(s.disk.sync); err != nil {
		return failed(lock.Path(), err)
	}
	if err := s.disk.syncDir(filepath.Dir(s.path)); err != nil {
		return err
	}
	s.missing = false
	return nil
}

// save stores a state. Until it has returned nil, what the file says may not be on the disk.
func (s *Store) save(d *State, lock *filelock.File) error {
	b, err := format.Encode(d)
	if err != nil {
		return err
	}
	s.unsure, s.state = true, nil
	if err := s.replace(s.path, b, lock); err != nil {
		return err
	}
	if s.o.Mark {
		if err := s.saveMark(d, lock); err != nil {
			return err
		}
	}
	s.unsure, s.stored, s.state = false, b, d
	return nil
}

// replace puts a new file in the place of the old one, so that after a crash at any point one of
// the two is there, whole, and after it has returned nil, the new one. If the lock file was
// deleted, another process may have read the old file before: then nothing counts as written.
func (s *Store) replace(path string, b []byte, lock *filelock.File) error {
	current := func() error {
		if !lock.Current() { //mutant:file-lock-gone
			return errLockDeleted
		}
		return nil
	}
	temp := path + ".tmp"
	for _, step := range []func() error{
		func() error { return s.disk.write(temp, path, b) },
		func() error { return s.markLock(lock) }, //mutant:file-lock-mark
		current,
		func() error { return s.disk.rename(temp, path) },
		func() error { return s.disk.syncDir(filepath.Dir(path)) },
		current,
	} {
		if err := step(); err != nil {
			if !errors.Is(err, errLockDeleted) { // it may be another process's by now
				_ = os.Remove(temp)
			}
			return failed(path, err)
		}
	}
	return nil
}

// write makes a new file whose content is on the disk when it returns nil. It has the owner and the
// mode of the old file; the first one has those that its directory gives.
func (k disk) write(path, old string, b []byte) error {
	_ = os.Remove(path) // what a crash has left
	like, err := os.Stat(old)
	if errors.Is(err, fs.ErrNotExist) {
		like, err = os.Stat(filepath.Dir(path))
	}
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	filesys.TakeAccess(f, like) //mutant:file-access
	_, err = f.Write(b)
	return cmp.Or(err, k.sync(f), f.Close())
}

// resolve finds the path of the file. Symbolic links are resolved, because the file is replaced
// by renaming, which would replace a link, and because its lock must be the same by whatever name.
func (s *Store) resolve() error {
	if s.path != "" {
		return nil
	}
	path, err := statefile.Resolve(s.o.Path)
	if err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return failed(path, err)
	}
	defer folder.Close()
	if err := statefile.RefuseNetwork(folder, path, s.disk.network); err != nil {
		return err
	}
	s.path = path
	return nil
}

// failed says what to do about an error of the file system; nil if there is none.
func failed(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case filesys.DiskFull(err):
		return fmt.Errorf("state file %q: %w; make room on that disk, or raise this user's quota; "+
			"service then resumes by itself", path, err)
	case filesys.Busy(err):
		return invalid.Errorf("state file %q is mounted alone, so that it cannot be replaced; mount "+
			"its folder instead: %w", path, err)
	}
	return statefile.OpenError(path, err)
}
