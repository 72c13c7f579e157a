//go:build !linux

package journal

import "os"

// allocate makes the file size bytes long.
func allocate(f *os.File, size int64) error { return f.Truncate(size) }
