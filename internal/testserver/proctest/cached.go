package proctest

import (
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// making is held while something is made for the cache, so that tests which run side by side make
// it once.
var making sync.Mutex

// Cached returns the path of a file or folder that build makes at the path it gets, on the first
// call on this machine. It stays in the user's cache folder, and is made anew when one of the
// programs, which are paths of files or names of commands, has changed. Nobody writes to it.
func Cached(tb testing.TB, name string, build func(path string), programs ...string) string {
	tb.Helper()
	making.Lock()
	defer making.Unlock()
	cache, err := os.UserCacheDir()
	if err != nil {
		tb.Fatal(err)
	}
	cache = filepath.Join(cache, "unalike")
	path := filepath.Join(cache, name+"-"+versions(tb, programs))
	if _, err := os.Lstat(path); err == nil {
		return path
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		tb.Fatal(err)
	}
	//nolint:usetesting // on the file system of the cache, so that it can be renamed
	dir, err := os.MkdirTemp(cache, name+"-")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	build(filepath.Join(dir, name))
	err = os.Rename(filepath.Join(dir, name), path)
	if _, there := os.Lstat(path); there != nil { // another process may have been faster
		tb.Fatal(err)
	}
	return path
}

// versions returns what changes with the programs.
func versions(tb testing.TB, programs []string) string {
	tb.Helper()
	h := fnv.New64a()
	for _, program := range programs {
		path, err := exec.LookPath(program)
		if err != nil {
			path = program
		}
		info, err := os.Stat(path)
		if err != nil {
			tb.Fatal(err)
		}
		_, _ = fmt.Fprintln(h, path, info.Size(), info.ModTime().UnixNano())
	}
	return fmt.Sprintf("%016x", h.Sum64())
}
