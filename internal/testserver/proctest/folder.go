package proctest

import (
	"os"
	"os/exec"
	"testing"
)

// Folder makes a folder that is removed with the test, for a server that has a socket in it, and
// may run as another user. The folder for temporary files can have a path that is too long for a
// socket, and that others may not go through; so it is in /tmp wherever that is.
func Folder(tb testing.TB, prefix string) string {
	tb.Helper()
	//nolint:usetesting // that of the test is closed to others
	dir, err := os.MkdirTemp("/tmp", prefix)
	if err != nil {
		dir, err = os.MkdirTemp("", prefix) //nolint:usetesting // likewise
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Write writes a file that nobody else may read.
func Write(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// Copy copies a folder, with owners and rights, to a path that is not there yet.
func Copy(tb testing.TB, from, to string) {
	tb.Helper()
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		tb.Fatalf("%s cannot be copied: %v\n%s", from, err, out)
	}
}
