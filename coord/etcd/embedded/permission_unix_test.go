//go:build unix

package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

func init() {
	// The child may not read its folder, which is what syncing it takes, and prints what
	// becomes of writing there.
	works["unsynced"] = func(_ context.Context, c *coordinator) error {
		if err := os.Chmod(c.folder.path, 0o300); err != nil {
			return err
		}
		fmt.Println(c.folder.write(namePost, c.host.Load()))
		return os.Chmod(c.folder.path, 0o700)
	}
}

// TestRenameSynced: a file is written once its new name is on the disk as well. That the
// folder is synced is seen from what happens if it cannot be.
func TestRenameSynced(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	top := filepath.Dir(dir)
	if err := errors.Join(os.Chmod(top, 0o777), os.Chmod(filepath.Dir(top), 0o755)); err != nil {
		t.Fatal(err)
	}
	got := startChild(t, dir, "unsynced", childWeak+"=1").Line(t)
	if !strings.HasPrefix(got, "unalike: invalid folder "+dir+": write endpoint.json: ") ||
		!strings.Contains(got, "permission denied") {
		t.Errorf("where the folder cannot be synced, writing said %s", got)
	}
}

// TestPermissionDenied needs a process of its own, because nothing is denied to root,
// who may run the tests.
func TestPermissionDenied(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(dir string) error{
		"made by nobody": func(dir string) error { return os.Chmod(filepath.Dir(dir), 0o555) },
		"not writable":   func(dir string) error { return os.Mkdir(dir, 0o555) },
		"hidden":         func(dir string) error { return os.Mkdir(dir, 0) },
	} {
		dir := newDir(t)
		top := filepath.Dir(dir)
		for _, d := range []string{top, filepath.Dir(top)} {
			if err := os.Chmod(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := prepare(dir); err != nil {
			t.Fatal(err)
		}
		got := startChild(t, dir, "stay", childWeak+"=1").Line(t)
		if !strings.HasPrefix(got, "error: unalike: invalid folder "+dir+": ") ||
			!strings.HasSuffix(got, "permission denied; let this user read and write the folder") {
			t.Errorf("%s: the process said %s", name, got)
		}
		for _, d := range []string{top, dir} { // so that they can be removed
			_ = os.Chmod(d, 0o755)
		}
	}
}
