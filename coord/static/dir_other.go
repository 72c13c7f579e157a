//go:build !unix

package static

// syncDir does nothing: Windows cannot flush a folder. NTFS writes renames to its
// journal, in order, so that a power failure leaves the old or the new file.
func syncDir(string) error { return nil }

// Elsewhere these are reported as a missing permission and a missing file.

func readOnly(error) bool { return false }

func notAFolder(error) bool { return false }
