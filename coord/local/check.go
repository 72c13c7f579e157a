package local

import "github.com/unalike-id/unalike/internal/statefile"

// CheckFile returns an error if no state file can be kept at a path, as far as that can be seen
// without locking it or writing to it: for a configuration that is to be refused at once, and not
// when a worker ID is acquired. What may pass, such as a full disk or a file in use, is no error.
// It asks the file system, and blocks while that does not answer. Errors wrap coord.ErrInvalid
// and name the path, what is wrong with it, and what to do.
func CheckFile(path string) error { return statefile.Check(path) }
