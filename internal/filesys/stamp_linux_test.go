package filesys

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestStampOf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, ok, err := StampOf(f)
	if err != nil || !ok || s.Inode == 0 || s.Links != 1 || time.Since(s.Changed).Abs() > time.Minute {
		t.Errorf("%+v, %t, %v", s, ok, err)
	}
	if err := os.Link(path, path+"2"); err != nil {
		t.Fatal(err)
	}
	if s, _, _ := StampOf(f); s.Links != 2 {
		t.Errorf("with a second name: %+v", s)
	}
	if name, err := Network(f); name != "" || err != nil {
		t.Errorf("a temporary folder is on %q, %v", name, err)
	}
	if len(BootID()) < 30 {
		t.Errorf("boot ID %q", BootID())
	}
}

func TestFuseOf(t *testing.T) {
	const mounts = `22 1 8:1 / / rw - ext4 /dev/sda1 rw
40 22 0:50 / /mnt/far rw,nosuid shared:7 - fuse.sshfs far:/ rw
41 22 0:51 / /mnt/ntfs rw - fuseblk /dev/sdb1 rw
42 22 0:52 / /mnt/s3 rw - fuse.s3fs s3fs rw
`
	for device, want := range map[string]string{
		"0:50": "fuse.sshfs", "0:51": "", "0:52": "fuse.s3fs",
		"0:99": "FUSE",
	} {
		if got := fuseOf(bufio.NewScanner(strings.NewReader(mounts)), device); got != want {
			t.Errorf("device %s is %q; want %q", device, got, want)
		}
	}
}
