//go:build darwin || freebsd

package filesys

import (
	"encoding/hex"
	"os"
	"runtime"
	"slices"
	"strings"
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
	//nolint:unconvert // 32 bits on some machines
	changed := time.Unix(int64(st.Ctimespec.Sec), int64(st.Ctimespec.Nsec))
	//nolint:unconvert // likewise
	return Stamp{
		Device: uint64(st.Dev), Inode: uint64(st.Ino), Links: uint64(st.Nlink), Changed: changed,
	}, true, nil
}

// BootID returns a name of this run of the machine's system; empty: there is none.
func BootID() string {
	name := "kern.bootsessionuuid"
	if runtime.GOOS == "freebsd" {
		name = "kern.boot_id"
	}
	id, err := syscall.Sysctl(name)
	if err != nil || runtime.GOOS == "darwin" {
		return id
	}
	return hex.EncodeToString([]byte(id))
}

// MachineID returns a name of the machine; empty: there is none.
func MachineID() string {
	name := "kern.uuid"
	if runtime.GOOS == "freebsd" {
		name = "kern.hostuuid"
	}
	id, err := syscall.Sysctl(name)
	if err != nil || strings.Trim(id, "0-") == "" {
		return ""
	}
	return id
}

// Network names the network file system that a file is on; empty: it is on none that is known.
func Network(f *os.File) (string, error) {
	var st syscall.Statfs_t
	if err := syscall.Fstatfs(int(f.Fd()), &st); err != nil {
		return "", err
	}
	var name []byte
	for _, c := range st.Fstypename {
		if c == 0 {
			break
		}
		name = append(name, byte(c))
	}
	if slices.Contains([]string{
		"nfs", "smbfs", "afpfs", "webdav", "ftp", "fusefs", "osxfuse",
		"macfuse", "9p", "p9fs",
	}, string(name)) {
		return string(name), nil
	}
	return "", nil
}
