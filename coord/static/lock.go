package static

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/filelock"
)

// lock locks the file at path, whose lock says that a worker ID is held. It is not
// the state file, because that is replaced by renaming another file over it. If
// another process holds the lock, the error wraps [coord.ErrNoWorkerID] and names it.
func lock(path string) (*filelock.File, error) {
	l, err := filelock.Lock(path)
	var held *filelock.HeldError
	var opening *fs.PathError
	switch {
	case err == nil:
		return l, nil
	case errors.As(err, &held):
		return nil, fmt.Errorf("%w: %w; stop it or give this process another worker ID", coord.ErrNoWorkerID, err)
	case errors.Is(err, filelock.ErrUnsupported):
		// A state file without a lock would promise what it cannot keep.
		return nil, fmt.Errorf("%w: %w; leave the state file out", coord.ErrInvalid, err)
	case errors.As(err, &opening):
		return nil, fileError("open lock file", err)
	}
	return nil, err
}
