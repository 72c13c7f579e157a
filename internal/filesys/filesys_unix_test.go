//go:build unix

package filesys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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

func TestPathTooLong(t *testing.T) {
	circle := filepath.Join(t.TempDir(), "circle")
	if err := os.Symlink(circle, circle); err != nil {
		t.Fatal(err)
	}
	_, round := os.Stat(circle)
	_, long := os.Stat(filepath.Join(t.TempDir(), strings.Repeat("n", 300)))
	if !PathTooLong(long) || PathTooLong(round) || PathTooLong(nil) {
		t.Errorf("%v: %v; %v: %v", long, PathTooLong(long), round, PathTooLong(round))
	}
	if !LinksInCircle(round) || LinksInCircle(long) || LinksInCircle(nil) {
		t.Errorf("%v: %v; %v: %v", long, LinksInCircle(long), round, LinksInCircle(round))
	}
}

func TestDiskFull(t *testing.T) {
	for err, want := range map[error]bool{
		syscall.ENOSPC: true, syscall.EDQUOT: true,
		syscall.EIO: false,
	} {
		if got := DiskFull(&fs.PathError{Op: "write", Path: "file", Err: err}); got != want {
			t.Errorf("%v is a full disk: %v; want %v", err, got, want)
		}
	}
	if DiskFull(nil) {
		t.Error("no error is a full disk")
	}
}
