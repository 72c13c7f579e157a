//go:build unix

package local

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord"
)

// TestPathThatCannotBe: paths that no system call takes are refused by CheckFile, and by whoever opens the file.
func TestPathThatCannotBe(t *testing.T) {
	r := newRig(t)
	circle := filepath.Join(r.dir, "circle")
	if err := os.Symlink(circle, circle); err != nil {
		t.Fatal(err)
	}
	long := filepath.Join(r.dir, strings.Repeat("n", 300))
	for path, says := range map[string]string{
		long:                         "and its last name 300; name a shorter one",
		filepath.Join(long, "state"): "the path is too long: it has ",
		"/" + strings.Repeat("n/", 9000) + "state": "the path is too long: it has 18006 bytes, and its last name 5; name a shorter one",
		circle:                         "the path leads through symbolic links that go in a circle; name another one",
		filepath.Join(circle, "state"): "the path leads through symbolic links that go in a circle; name another one",
		filepath.Join(r.dir, "a\x00b"): "there is a NUL byte in the path; no file can have such a name",
	} {
		err := CheckFile(path)
		if !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), says) || len(err.Error()) > 400 {
			t.Errorf("%.80q...: %.400v; want %q", path, err, says)
		}
		c, err := New(&link{Coordinator: memory(t, r.server), r: r}, path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = c.Acquire(r.ctx(), r.request(4)); !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%.80q..., acquired: %.400v; want %q", path, err, says)
		}
		_ = c.Close()
	}
}
