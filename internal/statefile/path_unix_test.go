//go:build unix

package statefile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord"
)

// TestPathThatCannotBe: paths that no system call takes are refused by Check, and by who opens the
// file.
func TestPathThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	circle := filepath.Join(dir, "circle")
	if err := os.Symlink(circle, circle); err != nil {
		t.Fatal(err)
	}
	nowhere := filepath.Join(dir, "nowhere")
	if err := os.Symlink(filepath.Join(dir, "none"), nowhere); err != nil {
		t.Fatal(err)
	}
	long := filepath.Join(dir, strings.Repeat("n", 300))
	const circular = "the path leads through symbolic links that go in a circle; name another one"
	for path, says := range map[string]string{
		long:                         "and its last name 300; name a shorter one",
		filepath.Join(long, "state"): "the path is too long: it has ",
		"/" + strings.Repeat("n/", 9000) + "state": "the path is too long: it has 18006 bytes, " +
			"and its last name 5; name a shorter one",
		nowhere:                        "is a symbolic link that leads nowhere; remove the link, or",
		circle:                         circular,
		filepath.Join(circle, "state"): circular,
		filepath.Join(dir, "a\x00b"):   "there is a NUL byte in the path; no file can have such a name",
	} {
		err := Check(path)
		if !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), says) ||
			len(err.Error()) > 400 {
			t.Errorf("%.80q...: %.400v; want %q", path, err, says)
		}
		if _, err := Resolve(path); !errors.Is(err, coord.ErrInvalid) ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%.80q..., opened: %.400v; want %q", path, err, says)
		}
	}
}
