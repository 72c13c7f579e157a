//go:build !unix

package filesys

import (
	"io/fs"
	"os"
)

// SyncDir does nothing: Windows cannot flush a folder. NTFS writes renames to its
// journal, in order, so that a power failure leaves the old or the new file.
func SyncDir(string) error { return nil }

// MayCreate is nil: what a user may do shows when it is done.
func MayCreate(string) error { return nil }

// TakeOwner does nothing: a new file inherits the rights of its directory.
func TakeOwner(*os.File, fs.FileInfo) {}

// TakeAccess does nothing, for the same reason.
func TakeAccess(*os.File, fs.FileInfo) {}

// Owner returns -1: such numbers are known on Unix only.
func Owner(fs.FileInfo) (user, group int) { return -1, -1 }

// ReadOnly is false: elsewhere this is reported as a missing permission.
func ReadOnly(error) bool { return false }

// NotAFolder is false: elsewhere this is reported as a missing file.
func NotAFolder(error) bool { return false }

// PathTooLong is false: elsewhere the system's own words have to do.
func PathTooLong(error) bool { return false }

// LinksInCircle is false: elsewhere the system's own words have to do.
func LinksInCircle(error) bool { return false }

// Busy is false: elsewhere nothing is mounted over one file.
func Busy(error) bool { return false }

// DiskFull is false: elsewhere the system's own words have to do.
func DiskFull(error) bool { return false }
