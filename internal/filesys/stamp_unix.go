//go:build linux || darwin || freebsd

package filesys

import (
	"os"
	"syscall"
	"time"
)

// StampOf returns the stamp of an open file; ok is false where the system has none.
func StampOf(f *os.File) (s Stamp, ok bool, _ error) {
	info, err := f.Stat()
	if err != nil {
		return s, false, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return s, false, nil
	}
	changed := changeTime(st)
	//nolint:unconvert // some have other sizes on other machines
	return Stamp{
		Device: uint64(st.Dev), Inode: uint64(st.Ino), Links: uint64(st.Nlink),
		Changed: time.Unix(changed.Unix()),
	}, true, nil
}
