//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// TestImageServes: in an empty root, as the image's user and with an empty environment, plain serve
// hands out IDs and ends well.
func TestImageServes(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("SKIPPED: chroot needs root on Linux")
	}
	root := t.TempDir()
	if err := unpack(t.Context(), imageOfTest(t), root); err != nil {
		t.Fatal(err)
	}
	if out, err := inRoot(root, "--version").CombinedOutput(); err != nil ||
		!strings.HasPrefix(string(out), "unalike v0.0.0-test (commit 0123456789abcdef) go") {
		t.Errorf("%s, %v", out, err)
	}
	s := start(t, inRoot(root, "serve", "--listen", "127.0.0.1:0"))
	s.serves()
	s.stop()
	if got, err := os.ReadDir(filepath.Join(root, dataFolder)); err != nil || len(got) != 1 {
		t.Errorf("its data are %v, %v", got, err)
	}
}

// inRoot is a run of the image's program.
func inRoot(root string, args ...string) *exec.Cmd {
	cmd := exec.Command("/unalike", args...)
	cmd.Dir, cmd.Env = "/", []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Chroot:     root,
		Credential: &syscall.Credential{Uid: user, Gid: user},
	}
	return cmd
}
