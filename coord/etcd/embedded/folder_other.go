//go:build !unix

package embedded

// Elsewhere these are reported as a missing permission and a missing file.

func readOnly(error) bool { return false }

func notAFolder(error) bool { return false }
