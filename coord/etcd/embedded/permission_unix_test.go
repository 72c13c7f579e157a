//go:build unix

package embedded

import (
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
		got := startChild(t, dir, "stay", childWeak+"=1").line(t)
		if !strings.HasPrefix(got, "error: coord: invalid folder "+dir+": ") || !strings.HasSuffix(got, "permission denied; let this user read and write the folder") {
			t.Errorf("%s: the process said %s", name, got)
		}
		for _, d := range []string{top, dir} { // so that they can be removed
			_ = os.Chmod(d, 0o755)
		}
	}
}
