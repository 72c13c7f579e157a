package proctest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFolder: a server's folder has a short path, in folders that others may go through, wherever
// the folder for temporary files is.
func TestFolder(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 20))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", long)
	dir := Folder(t, "unalike-")
	info, err := os.Stat(filepath.Dir(dir))
	if err != nil || info.Mode().Perm()&0o001 == 0 || len(dir) > 60 {
		t.Errorf("%s, in one with %v, %v", dir, info, err)
	}
}
