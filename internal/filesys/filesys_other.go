//go:build !unix

package filesys

// SyncDir does nothing: Windows cannot flush a folder. NTFS writes renames to its
// journal, in order, so that a power failure leaves the old or the new file.
func SyncDir(string) error { return nil }

// MayCreate is nil: what a user may do shows when it is done.
func MayCreate(string) error { return nil }

// ReadOnly is false: elsewhere this is reported as a missing permission.
func ReadOnly(error) bool { return false }

// NotAFolder is false: elsewhere this is reported as a missing file.
func NotAFolder(error) bool { return false }

// PathTooLong is false: elsewhere the system's own words have to do.
func PathTooLong(error) bool { return false }

// LinksInCircle is false: elsewhere the system's own words have to do.
func LinksInCircle(error) bool { return false }

// DiskFull is false: elsewhere the system's own words have to do.
func DiskFull(error) bool { return false }
