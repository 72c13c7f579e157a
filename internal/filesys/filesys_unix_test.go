//go:build unix

package filesys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestSyncDir(t *testing.T) {
	dir := t.TempDir()
	if err := SyncDir(dir); err != nil {
		t.Error(err)
	}
	if err := SyncDir(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v; want %v", err, fs.ErrNotExist)
	}
}

func TestNotAFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, below := os.Stat(filepath.Join(file, "name"))
	_, absent := os.Stat(file + "2")
	if !NotAFolder(below) || NotAFolder(absent) || NotAFolder(nil) {
		t.Errorf("%v: %v; %v: %v", below, NotAFolder(below), absent, NotAFolder(absent))
	}
	if ReadOnly(below) || ReadOnly(nil) {
		t.Error("an error of something else is that of a file system that cannot be written to")
	}
}
