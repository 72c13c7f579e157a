package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/filesys"
)

// CheckFile returns an error if no state file can be kept at a path, as far as that can be seen
// without locking it or writing to it: for a configuration that is to be refused at once, and not
// when a worker ID is acquired. What may pass, such as a full disk or a file in use, is no error.
// It asks the file system, and blocks while that does not answer. Errors wrap [coord.ErrInvalid]
// and name the path, what is wrong with it, and what to do.
func CheckFile(path string) error { return checkFile(path, realSystem()) }

func checkFile(path string, sys system) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%w: state file %q: the path is relative, and leads to another file wherever the program is started; name an absolute one, for example /var/lib/orders/unalike.state", coord.ErrInvalid, path)
	}
	path, err := resolvePath(path)
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
		return openError(path, err)
	}
	defer f.Close()
	return sys.refuseNetwork(f, path)
}

// refuseNetwork returns an error if a file or folder is on a network file system.
func (s system) refuseNetwork(f *os.File, path string) error {
	switch name, err := s.network(f); {
	case err != nil:
		return fmt.Errorf("state file %q: %w", path, err)
	case name != "":
		return fmt.Errorf("%w: state file %q is on a network file system, %s, where a lock may keep nobody out; name a file on a disk of this machine", coord.ErrInvalid, path, name)
	}
	return nil
}
