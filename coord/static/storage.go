package static

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/filelock"
	"github.com/unalike-id/unalike/internal/filesys"
)

// lockSuffix is what the name of a lock file has after that of its state file.
const lockSuffix = ".lock"

// storage reads and writes state files. Its fields are the steps that can fail or take
// long, and between which another process can come, so that tests can let them.
type storage struct {
	lock    func(path string) (*filelock.File, error)
	load    func(path string) (record, error)
	sync    func(*os.File) error
	rename  func(from, to string) error
	syncDir func(dir string) error
}

func realStorage() storage {
	return storage{lock: filelock.Lock, load: load, sync: (*os.File).Sync, rename: os.Rename, syncDir: filesys.SyncDir}
}

// statePath returns the path of the state file of one worker ID: the configured
// one for the first, and that with its number appended for the others. Symbolic
// links are resolved, because the file is replaced by renaming, which would
// replace a link, and because its lock must be the same by whatever name.
func statePath(configured string, first, worker int) (string, error) {
	if worker != first {
		configured += "." + strconv.Itoa(worker)
	}
	path, err := filepath.Abs(configured)
	if err != nil {
		return "", fmt.Errorf("%w state file %q: %w", coord.ErrInvalid, configured, err)
	}
	switch info, err := os.Lstat(path); {
	case err == nil && info.Mode().IsRegular():
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
		target, err := filepath.EvalSymlinks(path)
		if err != nil {
			return "", fmt.Errorf("%w state file %q: it is a symbolic link that cannot be followed: %w; remove the link or create its target's folder and file", coord.ErrInvalid, path, err)
		}
		if info, err := os.Stat(target); err != nil || !info.Mode().IsRegular() {
			return "", fmt.Errorf("%w state file %q: it is a link to %q, which is not a regular file; name a file", coord.ErrInvalid, path, target)
		}
		return target, nil
	case err == nil:
		return "", fmt.Errorf("%w state file %q: it is not a regular file but %v; name a file", coord.ErrInvalid, path, info.Mode().Type())
	case !errors.Is(err, fs.ErrNotExist):
		return "", fileError("look for state file", err)
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return "", noFolder("find the folder of the state file", err)
	}
	if err != nil {
		return "", fileError("find the folder of the state file", err)
	}
	return filepath.Join(folder, filepath.Base(path)), nil
}

// load reads a state file. A missing one is an error that wraps fs.ErrNotExist; a
// damaged one an error that wraps coord.ErrInvalid.
func load(path string) (record, error) {
	f, err := os.Open(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return record{}, err
		}
		return record{}, fileError("read state file", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxState+1))
	if err != nil {
		return record{}, fileError("read state file", err)
	}
	r, err := decode(b)
	if err != nil {
		return record{}, fmt.Errorf("%w state file %q: %w; restore it, or move it away if the clock is right: the next start then waits one horizon", coord.ErrInvalid, path, err)
	}
	return r, nil
}

// save replaces a state file so that after a crash at any point the old or the
// new content is there, whole, and after save returned nil, the new one. The
// caller holds the lock, so a temporary file that exists is left from a crash.
func (s storage) save(path string, r record) error {
	b, err := r.encode()
	if err != nil {
		return err
	}
	temp := path + ".tmp"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fileError("remove what a crash left", err)
	}
	if err := s.write(temp, b); err != nil {
		_ = os.Remove(temp) // the next save tries again
		return fileError("write state file", err)
	}
	if err := s.rename(temp, path); err != nil {
		_ = os.Remove(temp)
		return fileError("replace state file", err)
	}
	if err := s.syncDir(filepath.Dir(path)); err != nil {
		return fileError("sync the folder of the state file", err)
	}
	return nil
}

// write makes a new file whose content is on the disk when it returns nil.
func (s storage) write(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = s.sync(f)
	}
	return errors.Join(err, f.Close())
}

// fileError says what to do about the errors that trying again alone cannot mend; the
// others pass with what was being done.
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

// folderExists tells whether the folder of the file that err is about is there.
// File systems that hold no files of users, such as /proc, say of a new file in a
// folder that exists that there is no such file.
func folderExists(err error) bool {
	var file *fs.PathError
	if !errors.As(err, &file) {
		return false
	}
	_, err = os.Stat(filepath.Dir(file.Path))
	return err == nil
}
