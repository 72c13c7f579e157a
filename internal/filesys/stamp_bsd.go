//go:build darwin || freebsd

package filesys

import (
	"encoding/hex"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// changeTime returns when a file or its record was changed last.
func changeTime(st *syscall.Stat_t) syscall.Timespec { return st.Ctimespec }

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
