//go:build unix

package static

import (
	"errors"
	"os"
	"syscall"
)

// syncDir puts the names in a folder on the disk: without it, a power failure may
// bring back the file that was renamed over.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	// Some file systems have nothing to sync in a folder and say so.
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

func readOnly(err error) bool { return errors.Is(err, syscall.EROFS) }

func notAFolder(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
