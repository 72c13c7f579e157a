package statefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord"
)

// TestCheck: a path at which there can be no state file is refused before anything is
// acquired, and nothing is made there.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"": "the path is relative, and leads to another file wherever " +
			"the program is started; name an absolute one",
		"unalike.state":                    `state file "unalike.state": the path is relative`,
		dir:                                "is not a regular file but d---------; name a file",
		filepath.Join(dir, "none", "file"): "its folder does not exist; create it",
		filepath.Join(file, "file"):        "its folder does not exist; create it",
		file + "\x00": "there is a NUL byte in the path; no file can have " +
			"such a name",
	} {
		err := Check(path)
		if !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", path, err, want)
		}
	}
	for _, path := range []string{file, filepath.Join(dir, "other")} {
		if err := Check(path); err != nil {
			t.Errorf("%q: %v", path, err)
		}
		err := CheckWith(path, func(*os.File) (string, error) { return "NFS", nil })
		if !errors.Is(err, coord.ErrInvalid) ||
			!strings.Contains(err.Error(), "is on a network file system, NFS, where a lock may keep nobody "+
				"out; name a file on a disk of this machine") {
			t.Errorf("%q on a network: %v", path, err)
		}
	}
	if found, err := os.ReadDir(dir); err != nil || len(found) != 1 {
		t.Errorf("%v, %v are in the folder", found, err)
	}
}

// TestCheckRights: what this user may not write is refused.
func TestCheckRights(t *testing.T) {
	err := OpenError("/etc/unalike.state", &fs.PathError{
		Op: "open", Path: "/etc/unalike.state",
		Err: fs.ErrPermission,
	})
	if !errors.Is(err, coord.ErrInvalid) ||
		!strings.Contains(err.Error(), `state file "/etc/unalike.state": this user may not write it`) {
		t.Error(err)
	}
	there := filepath.Join(t.TempDir(), "file") // as in /proc, where no file can be made
	if err := OpenError(there, &fs.PathError{
		Op: "open", Path: there,
		Err: fs.ErrNotExist,
	}); !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(),
		"its folder is there, but no file can be made in it: name another folder") {
		t.Error(err)
	}
	if runtime.GOOS == "windows" || os.Getuid() == 0 {
		t.Skip("nothing keeps this user from writing")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o400); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Join(dir, "other")} {
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		err := Check(path)
		if !errors.Is(err, coord.ErrInvalid) ||
			!strings.Contains(err.Error(), "this user may not write it") {
			t.Errorf("%q: %v", path, err)
		}
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
}
