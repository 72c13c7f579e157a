package filestore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/filesys"
)

// disk has the steps that can fail or take long, and between which another process can come, so
// that tests can let them.
type disk struct {
	sync    func(*os.File) error
	rename  func(from, to string) error
	syncDir func(dir string) error
	network func(*os.File) (string, error)
}

func realDisk() disk {
	return disk{sync: (*os.File).Sync, rename: os.Rename, syncDir: filesys.SyncDir, network: filesys.Network}
}

// read reads a file. A missing one is an error that wraps fs.ErrNotExist.
func (k disk) read(path string) (*state, error) {
	f, err := os.Open(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		return nil, fileError("read state file", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fileError("read state file", err)
	}
	d, err := decode(b)
	if err != nil {
		return nil, fmt.Errorf("%w state file %q: %w; restore it, or move it away (mv %[2]s %[2]s.old): a new one is made then, and nothing is granted before the windows are over that it may have had", coord.ErrInvalid, path, err)
	}
	return d, nil
}

// errLockDeleted says that what was to be written may have been written over.
var errLockDeleted = errors.New("the lock file was deleted meanwhile; leave it in place")

// replace puts a file in the place of another one, so that after a crash at any point one of the
// two is there, whole, and after it has returned nil, the new one. Current reports whether the
// caller's lock keeps others out: who has deleted its file lets another process in, which may have
// read the old file before, so that nothing is believed to be written then.
func (k disk) replace(path string, b []byte, current func() bool) error {
	temp := path + ".tmp"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fileError("remove what a crash left", err)
	}
	if err := k.write(temp, b); err != nil {
		_ = os.Remove(temp)
		return fileError("write state file", err)
	}
	if !current() {
		return fmt.Errorf("write state file %q: %w", path, errLockDeleted)
	}
	if err := k.rename(temp, path); err != nil {
		_ = os.Remove(temp)
		return fileError("replace state file", err)
	}
	if err := k.syncDir(filepath.Dir(path)); err != nil {
		return fileError("sync the folder of the state file", err)
	}
	if !current() {
		return fmt.Errorf("write state file %q: %w", path, errLockDeleted)
	}
	return nil
}

// write makes a new file whose content is on the disk when it returns nil.
func (k disk) write(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = k.sync(f)
	}
	return errors.Join(err, f.Close())
}

// resolve returns the path of the file. Symbolic links are resolved, because the file is replaced
// by renaming, which would replace a link, and because its lock must be the same by whatever name.
func (s *Store) resolve() (string, error) {
	if path := s.resolved.Load(); path != nil {
		return *path, nil
	}
	path, err := filepath.Abs(s.path)
	if err != nil {
		return "", fmt.Errorf("%w state file %q: %w", coord.ErrInvalid, s.path, err)
	}
	switch info, err := os.Lstat(path); {
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
		target, err := filepath.EvalSymlinks(path)
		if err != nil {
			return "", fmt.Errorf("%w state file %q: it is a symbolic link that cannot be followed: %w; remove the link or create its target's folder and file", coord.ErrInvalid, path, err)
		}
		if info, err := os.Stat(target); err != nil || !info.Mode().IsRegular() {
			return "", fmt.Errorf("%w state file %q: it is a link to %q, which is not a regular file; name a file", coord.ErrInvalid, path, target)
		}
		path = target
	case err == nil && !info.Mode().IsRegular():
		return "", fmt.Errorf("%w state file %q: it is not a regular file but %v; name a file", coord.ErrInvalid, path, info.Mode().Type())
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", fileError("look for state file", err)
	default:
		folder, err := filepath.EvalSymlinks(filepath.Dir(path))
		switch doing := "find the folder of the state file"; {
		case errors.Is(err, fs.ErrNotExist):
			return "", noFolder(doing, err)
		case err != nil:
			return "", fileError(doing, err)
		}
		path = filepath.Join(folder, filepath.Base(path))
	}
	if err := s.refuseNetwork(filepath.Dir(path)); err != nil {
		return "", err
	}
	s.resolved.Store(&path)
	return path, nil
}

// refuseNetwork returns an error if a folder is on a network file system.
func (s *Store) refuseNetwork(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return nil // what is needed of it, the file system will say
	}
	defer f.Close()
	switch name, err := s.disk.network(f); {
	case err != nil:
		return fileError("look at the file system of the state file", err)
	case name != "":
		return fmt.Errorf("%w: state file %q is on a network file system, %s, where a lock may keep nobody out; name a file on a disk of this machine", coord.ErrInvalid, s.path, name)
	}
	return nil
}

// fileError says what to do about the errors that trying again alone cannot mend; the others pass
// with what was being done.
func fileError(doing string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission), filesys.ReadOnly(err):
		return fmt.Errorf("%w state file: %s: %w; let this user read and write the file and its folder", coord.ErrInvalid, doing, err)
	case filesys.NotAFolder(err):
		return fmt.Errorf("%w state file: %s: %w; a file is where a folder should be: name another path", coord.ErrInvalid, doing, err)
	case errors.Is(err, fs.ErrNotExist) && !folderExists(err):
		return noFolder(doing, err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w state file: %s: %w; its folder is there, but no file can be made in it: name another folder", coord.ErrInvalid, doing, err)
	case filesys.DiskFull(err):
		return fmt.Errorf("%s: %w; make room on that disk, or raise this user's quota; service then resumes by itself", doing, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// noFolder is the error for a folder that is missing.
func noFolder(doing string, err error) error {
	return fmt.Errorf("%w state file: %s: %w; create the folder", coord.ErrInvalid, doing, err)
}

// folderExists reports whether the folder of the file that err is about is there. File systems
// that hold no files of users, such as /proc, say of a new file in a folder that exists that there
// is no such file.
func folderExists(err error) bool {
	file, ok := errors.AsType[*fs.PathError](err)
	if !ok {
		return false
	}
	_, err = os.Stat(filepath.Dir(file.Path))
	return err == nil
}
