package proctest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// longest is how long the path of a folder may be that has a socket in it: with its name, a
// little more than 100 bytes are allowed.
const longest = 60

// Folder makes a folder that is removed with the test, for a server that has a socket in it,
// and may run as another user: its path is short, and others may go through all that is above
// it. Where the folder for temporary files is not so, it is another one.
func Folder(tb testing.TB, prefix string) string {
	tb.Helper()
	//nolint:usetesting // see below
	for _, parent := range []string{os.TempDir(), "/tmp", "/var/tmp", "/dev/shm"} {
		if !open(parent) || len(parent)+len(prefix) > longest {
			continue
		}
		//nolint:usetesting // that of the test has a long path, and is closed to others
		dir, err := os.MkdirTemp(parent, prefix)
		if err != nil {
			continue
		}
		tb.Cleanup(func() { _ = os.RemoveAll(dir) })
		return dir
	}
	//nolint:usetesting // likewise, and the server says what is wrong with it
	dir, err := os.MkdirTemp("", prefix)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Copy copies a folder, with owners and rights, to a path that is not there yet.
func Copy(tb testing.TB, from, to string) {
	tb.Helper()
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		tb.Fatalf("%s cannot be copied: %v\n%s", from, err, out)
	}
}

// open reports whether a folder is there, and others may go through it and all that is above
// it, or this process is nobody special, so that its servers run as itself.
func open(dir string) bool {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return false
	}
	for {
		info, err := os.Stat(dir)
		if err != nil || os.Getuid() == 0 && info.Mode().Perm()&0o001 == 0 {
			return false
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return true
		}
		dir = parent
	}
}
