package filelock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

const (
	// maxLooks is how often somebody who only looks is waited for.
	maxLooks = 100
	// lookTime is how long that takes each time.
	lookTime = time.Millisecond
)

// Look tells who has the lock of the file at path, and since when; nil: nobody. The
// file need not exist. Look takes a shared lock for a moment; a [Lock] that meets it
// waits for its end, and does not take it for a holder.
func Look(path string) (held *HeldError, since time.Time, err error) {
	f, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, time.Time{}, nil // who has a lock has made its file
	case err != nil:
		return nil, time.Time{}, err
	}
	defer f.Close()
	free, err := tryShare(f)
	switch {
	case err != nil:
		return nil, time.Time{}, fmt.Errorf("look at lock %s: %w", path, err)
	case free:
		return nil, time.Time{}, nil
	}
	info, err := f.Stat()
	if err != nil {
		return nil, time.Time{}, err
	}
	return holder(path, f), info.ModTime(), nil // it was signed when it was locked
}

// onlyLooking tells whether whoever keeps f from being locked has no lock but is in
// Look, which takes microseconds. The lock that f then has is given back by closing it.
func onlyLooking(f *os.File) bool {
	ok, err := tryShare(f)
	return err == nil && ok
}
