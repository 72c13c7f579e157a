package filesys

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
)

// changeTime returns when a file or its record was changed last.
func changeTime(st *syscall.Stat_t) syscall.Timespec { return st.Ctim }

// BootID returns a name of this run of the machine's system, and MachineID one of the
// machine; empty: there is none.
func BootID() string { return firstLine("/proc/sys/kernel/random/boot_id") }

// MachineID returns a name of the machine; empty: there is none.
func MachineID() string { return firstLine("/etc/machine-id") }

func firstLine(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSpace(line)
}

// networks are the file systems on other machines, by their numbers.
var networks = map[uint32]string{
	0x6969: "NFS", 0x517b: "SMB", 0xff534d42: "CIFS", 0xfe534d42: "SMB", 0x01021997: "9p",
	0x0bd00bd0: "Lustre",
	0x00c36400: "Ceph", 0x5346414f: "AFS", 0x6b414653: "AFS", 0x73757245: "Coda", 0x47504653: "GPFS",
	0x7461636f: "OCFS2", 0x01161970: "GFS2", 0x564c: "NCP", 0xaad7aaea: "PanFS", 0x19830326: "BeeGFS",
	0xa501fcf5: "VxFS", 0x786f4256: "a folder shared with a virtual machine",
	0xbacbacbc: "a folder shared with a virtual machine",
}

// fuse is the number of file systems that programs serve.
const fuse = 0x65735546

// fuses are such programs that keep files on the machine itself. All others are taken for
// networks: there are too many to know them.
var fuses = []string{
	"fuseblk", "fuse.fuse-overlayfs", "fuse.ntfs-3g", "fuse.bindfs",
	"fuse.mergerfs", "fuse.zfs-fuse",
}

// Network names the network file system that a file is on; empty: it is on none that is known.
func Network(f *os.File) (string, error) {
	var st syscall.Statfs_t
	if err := syscall.Fstatfs(int(f.Fd()), &st); err != nil {
		return "", err
	}
	kind := uint32(st.Type)
	if kind != fuse {
		return networks[kind], nil
	}
	s, ok, err := StampOf(f)
	if err != nil || !ok {
		return "FUSE", err
	}
	mounts, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "FUSE", nil // what cannot be told apart is refused
	}
	defer mounts.Close()
	return fuseOf(bufio.NewScanner(mounts), fmt.Sprintf("%d:%d", major(s.Device), minor(s.Device))),
		nil
}

// fuseOf finds the kind of a FUSE file system by its device in /proc/self/mountinfo; empty:
// it is one on this machine.
func fuseOf(lines *bufio.Scanner, device string) string {
	for lines.Scan() {
		mount, kind, ok := strings.Cut(lines.Text(), " - ")
		fields := strings.Fields(mount)
		if !ok || len(fields) < 3 || fields[2] != device {
			continue
		}
		name, _, _ := strings.Cut(kind, " ")
		if slices.Contains(fuses, name) {
			return ""
		}
		return name
	}
	return "FUSE"
}

func major(dev uint64) uint64 { return dev>>8&0xfff | dev>>32&^0xfff }
func minor(dev uint64) uint64 { return dev&0xff | dev>>12&^0xff }
