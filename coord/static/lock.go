package static

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/filelock"
)

// lock locks the file at path, whose lock says that a worker ID is held. It is not
// the state file, because that is replaced by renaming another file over it. If
// another process holds the lock, the error wraps [coord.ErrNoWorkerID] and names it.
func lock(path string, try func(string) (*filelock.File, error)) (*filelock.File, error) {
	l, err := try(path)
	var held *filelock.HeldError
	if errors.As(err, &held) {
		return nil, fmt.Errorf("%w: %w; stop it or give this process another worker ID", coord.ErrNoWorkerID, err)
	}
	return l, lockError(err)
}

// lockedBy tells which process holds the lock of the file at path, and since when;
// nobody if who is empty.
func lockedBy(path string) (who string, since time.Time, err error) {
	held, since, err := filelock.Look(path)
	if held != nil {
		who = held.Holder()
	}
	return who, since, lockError(err)
}

// lockError says what to do about an error of package filelock.
func lockError(err error) error {
	var opening *fs.PathError
	switch {
	case errors.Is(err, filelock.ErrUnsupported):
		// A state file without a lock would promise what it cannot keep.
		return fmt.Errorf("%w: %w; leave the state file out", coord.ErrInvalid, err)
	case errors.As(err, &opening):
		return fileError("open lock file", err)
	}
	return err
}
