package statefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/filelock"
	"github.com/unalike-id/unalike/internal/filesys"
)

// Check returns an error if no state file can be kept at a path, as far as that can be seen
// without locking it or writing to it. It asks the file system, and blocks while that does not
// answer. Errors wrap [coord.ErrInvalid] and name the path, what is wrong with it, and what to do.
func Check(path string) error { return CheckWith(path, filesys.Network) }

// CheckWith is Check with a function that names the network file system of a file.
func CheckWith(path string, network func(*os.File) (string, error)) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%w: state file %q: the path is relative, and leads to another file wherever "+
			"the program is started; name an absolute one, for example /var/lib/orders/unalike.state",
			coord.ErrInvalid, path)
	}
	path, err := Resolve(path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) { // then it will be made in this folder
		if err = filesys.MayCreate(filepath.Dir(path)); err == nil {
			f, err = os.Open(filepath.Dir(path))
		}
	}
	if err != nil {
		return OpenError(path, err)
	}
	defer f.Close()
	return RefuseNetwork(f, path, network)
}

// RefuseNetwork returns an error if a file or folder is on a network file system, as a function
// tells.
func RefuseNetwork(f *os.File, path string, network func(*os.File) (string, error)) error {
	switch name, err := network(f); {
	case err != nil:
		return fmt.Errorf("state file %q: %w", path, err)
	case name != "":
		return fmt.Errorf("%w: state file %q is on a network file system, %s, where a lock may keep "+
			"nobody out; name a file on a disk of this machine", coord.ErrInvalid, path, name)
	}
	return nil
}

// Resolve returns the path of a file without symbolic links, so that each name of the file leads to
// the same lock. The file need not exist. Errors of the configuration wrap [coord.ErrInvalid].
func Resolve(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err == nil && strings.ContainsRune(path, 0) {
		err = errors.New("there is a NUL byte in the path; no file can have such a name")
	}
	if err != nil {
		return "", fmt.Errorf("%w: state file %q: %w", coord.ErrInvalid, path, err)
	}
	info, err := os.Stat(abs)
	link, _ := os.Readlink(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist) && link != "": //mutant:state-link
		return "", fmt.Errorf("%w: state file %q is a symbolic link that leads nowhere; remove the "+
			"link, or create the file", coord.ErrInvalid, abs)
	case errors.Is(err, fs.ErrNotExist):
		dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
		if err != nil {
			return "", OpenError(abs, err)
		}
		return filepath.Join(dir, filepath.Base(abs)), nil
	case err != nil:
		return "", OpenError(abs, err)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%w: state file %q is not a regular file but %v; name a file",
			coord.ErrInvalid, abs, info.Mode().Type())
	}
	return filepath.EvalSymlinks(abs)
}

// OpenError explains why a state file cannot be opened. What the configuration is to blame
// for is final.
func OpenError(path string, err error) error {
	folder, ferr := os.Stat(filepath.Dir(path))
	switch {
	case errors.Is(err, fs.ErrNotExist) && ferr == nil && folder.IsDir():
		return fmt.Errorf("%w: state file %q: its folder is there, but no file can be made in it: name "+
			"another folder: %w", coord.ErrInvalid, path, err)
	case errors.Is(err, fs.ErrNotExist), filesys.NotAFolder(err):
		return fmt.Errorf("%w: state file %q: its folder does not exist; create it: %w", coord.ErrInvalid,
			path, err)
	case filesys.PathTooLong(err):
		return fmt.Errorf("%w: state file %.80q...: the path is too long: it has %d bytes, and its last "+
			"name %d; name a shorter one", coord.ErrInvalid, path, len(path), len(filepath.Base(path)))
	case filesys.LinksInCircle(err):
		return fmt.Errorf("%w: state file %q: the path leads through symbolic links that go in a "+
			"circle; name another one", coord.ErrInvalid, path)
	case filesys.ReadOnly(err):
		return fmt.Errorf("%w: state file %q is on a file system that is mounted read-only; mount it "+
			"for writing, or name another file: %w", coord.ErrInvalid, path, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: state file %q: this user may not write it%s: %w", coord.ErrInvalid, path,
			barrier(path, err), err)
	case errors.Is(err, filelock.ErrUnsupported):
		return fmt.Errorf("%w: state file %q: %w", coord.ErrInvalid, path, err)
	}
	return fmt.Errorf("state file %q: %w", path, err)
}

// barrier describes the file or directory that denies this user access: its owner, its mode, and
// the command that helps. It is that of err, or the first directory above it that this user sees.
func barrier(path string, err error) string {
	if denied, ok := errors.AsType[*fs.PathError](err); ok {
		path = denied.Path
	}
	if denied, ok := errors.AsType[*os.LinkError](err); ok {
		path = denied.New
	}
	info, err := os.Lstat(path)
	for err != nil && filepath.Dir(path) != path {
		path = filepath.Dir(path)
		info, err = os.Lstat(path)
	}
	if err != nil {
		return ""
	}
	owner, group := filesys.Owner(info)
	if owner < 0 {
		return ""
	}
	command := fmt.Sprintf("'chown %d %s', or for several users chgrp and chmod g+rwxs on the folder",
		os.Geteuid(), path)
	if owner == os.Geteuid() {
		command = "'chmod u+rwX " + path + "'"
	}
	return fmt.Sprintf(": %s belongs to user %d and group %d, with mode %v; run %s", path, owner,
		group, info.Mode(), command)
}
