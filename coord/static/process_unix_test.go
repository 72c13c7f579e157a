//go:build unix

package static

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// becomeNobody gives up the rights of root.
func becomeNobody() error {
	if os.Geteuid() != 0 {
		return nil
	}
	return syscall.Setuid(65534)
}

// TestPermissionDenied needs a process of its own, because nothing is denied to
// root, who may run the tests.
func TestPermissionDenied(t *testing.T) {
	path := statePathOf(t)
	folder := filepath.Dir(path)
	for _, d := range []string{folder, filepath.Dir(folder)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const advice = "permission denied; let this user read and write the file and its folder"
	for _, tt := range []struct {
		name    string
		prepare func() error
		want    string
	}{
		{"folder not writable", func() error { return os.Chmod(folder, 0o555) }, "coord: invalid state file: open lock file: open " + path + ".lock: " + advice},
		{"folder hidden", func() error { return os.Chmod(folder, 0) }, "coord: invalid state file: look for state file: lstat " + path + ": " + advice},
		{"lock not writable", func() error {
			write(t, path+".lock", "")
			return os.Chmod(path+".lock", 0o444)
		}, "coord: invalid state file: open lock file: open " + path + ".lock: " + advice},
		{"state not readable", func() error {
			write(t, path, goodState)
			if err := os.Chmod(path+".lock", 0o666); err != nil {
				return err
			}
			return os.Chmod(path, 0)
		}, "coord: invalid state file: read state file: open " + path + ": " + advice},
		{"temporary file cannot be made", func() error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.Chmod(folder, 0o555)
		}, "coord: invalid state file: write state file: open " + path + ".tmp: " + advice},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := os.Chmod(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := tt.prepare(); err != nil {
				t.Fatal(err)
			}
			p := start(t, rand.Text(), path, "", childWeak+"=1")
			if !p.out.Scan() || p.out.Text() != "error: "+tt.want {
				t.Errorf("the process said\n\t%s\nwant\n\terror: %s", p.out.Text(), tt.want)
			}
		})
	}
	if err := os.Chmod(folder, 0o755); err != nil { // so that it can be removed
		t.Fatal(err)
	}
}
