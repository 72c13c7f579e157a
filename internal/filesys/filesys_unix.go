//go:build unix

package filesys

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// SyncDir puts the names in a folder on the disk. It blocks until they are there.
func SyncDir(dir string) error {
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

// MayCreate returns an error if this user may not make files in a folder.
func MayCreate(dir string) error {
	const write, search = 2, 1
	if err := syscall.Access(dir, write|search); err != nil {
		return &fs.PathError{Op: "write in", Path: dir, Err: err}
	}
	return nil
}

// TakeOwner gives a new file the owner and the group of another file or directory, as far as this
// user may. Only root changes owners; other users choose among their own groups.
func TakeOwner(f *os.File, of fs.FileInfo) {
	user, group := Owner(of)
	if f.Chown(user, group) != nil {
		_ = f.Chown(-1, group) // the owner stays
	}
}

// TakeAccess is TakeOwner, and also sets the mode: that of the file that is replaced, or the file's
// own with the group's rights to the directory.
func TakeAccess(f *os.File, of fs.FileInfo) {
	TakeOwner(f, of)
	mode := of.Mode().Perm()
	if of.IsDir() {
		info, err := f.Stat()
		if err != nil {
			return
		}
		const group = 0o060
		mode = info.Mode().Perm() | mode&group
	}
	_ = f.Chmod(mode) // some file systems have no modes
}

// Owner returns the numbers of the user and the group that a file belongs to; -1: they are not
// known.
func Owner(info fs.FileInfo) (user, group int) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -1, -1
	}
	return int(stat.Uid), int(stat.Gid)
}

// ReadOnly tells whether err is that of a file system that cannot be written to.
func ReadOnly(err error) bool { return errors.Is(err, syscall.EROFS) }

// NotAFolder tells whether err says that something on the way is not a folder.
func NotAFolder(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

// PathTooLong reports whether err says that a path, or a name in it, is longer than the system
// allows.
func PathTooLong(err error) bool { return errors.Is(err, syscall.ENAMETOOLONG) }

// LinksInCircle reports whether err says that symbolic links lead to one another without end.
func LinksInCircle(err error) bool { return errors.Is(err, syscall.ELOOP) }

// Busy reports whether err says that a file cannot be replaced because something is mounted there.
func Busy(err error) bool { return errors.Is(err, syscall.EBUSY) }

// DiskFull reports whether err says that there is no room on the disk, or that the user's
// quota is spent.
func DiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
