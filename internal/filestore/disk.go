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
	"github.com/unalike-id/unalike/internal/statefile"
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
		return nil, failed(path, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, failed(path, err)
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
		return failed(path, err)
	}
	err := k.write(temp, b)
	if err == nil && !current() {
		err = errLockDeleted
	}
	if err == nil {
		err = k.rename(temp, path)
	}
	if err != nil {
		_ = os.Remove(temp)
		return failed(path, err)
	}
	if err = k.syncDir(filepath.Dir(path)); err == nil && !current() {
		err = errLockDeleted
	}
	if err != nil {
		return failed(path, err)
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
	path, err := statefile.Resolve(s.path)
	if err != nil {
		return "", err
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return "", fmt.Errorf("%w: state file %q is a symbolic link that leads nowhere; remove the link, or create the file", coord.ErrInvalid, path)
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", failed(path, err)
	}
	defer folder.Close()
	if err := statefile.RefuseNetwork(folder, path, s.disk.network); err != nil {
		return "", err
	}
	s.resolved.Store(&path)
	return path, nil
}

// failed says what to do about an error of the file system.
func failed(path string, err error) error {
	if filesys.DiskFull(err) {
		return fmt.Errorf("state file %q: %w; make room on that disk, or raise this user's quota; service then resumes by itself", path, err)
	}
	return statefile.OpenError(path, err)
}
