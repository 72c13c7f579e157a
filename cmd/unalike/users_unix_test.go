//go:build unix

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// Users and groups of tests. They need no names.
const (
	alice, bob = 41001, 41002
	team       = 42000
	others     = 43000
)

// as runs a command of the program as a user of a group, with a umask that gives others nothing. It
// returns the exit code and the error output.
func as(t *testing.T, user, group uint32, command, url string) (code int, said string) {
	t.Helper()
	p := startAs(t, t.TempDir(), func(cmd *exec.Cmd) {
		cmd.Args = append([]string{"sh", "-c", `umask 077; exec "$0" "$@"`}, cmd.Args...)
		cmd.Path = "/bin/sh"
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: group}}
	}, command, "--coordinator", url)
	_, _ = io.Copy(io.Discard, p.out)
	code = p.wait()
	return code, p.stderr.String()
}

// folderOf makes a directory that belongs to a user and a group.
func folderOf(t *testing.T, user, group int, mode os.FileMode) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("skipped: only root can be several users")
	}
	if _, err := build(); err != nil {
		t.Fatal(err)
	}
	dir := proctest.Folder(t, "unalike-users-")
	for _, err := range []error{
		os.Chmod(builtIn, 0o755), os.Chown(dir, user, group), os.Chmod(dir, mode),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// access returns the owner, the group and the mode of a file.
func access(t *testing.T, path string) string {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	stat := info.Sys().(*syscall.Stat_t)
	return fmt.Sprint(stat.Uid, " ", stat.Gid, " ", info.Mode())
}

// urlsOf returns URLs of coordinators that keep their state in a directory.
func urlsOf(dir string) []string {
	return []string{
		"file://" + dir + "/ids?namespace=n",
		"static://?worker=7&namespace=n&state=" + dir + "/state",
	}
}

// mustAs makes the namespace at a URL as the first of some users, and has all of them make an ID.
func mustAs(t *testing.T, url string, group uint32, users ...uint32) {
	t.Helper()
	command := "init"
	for _, user := range append(users[:1:1], users...) {
		if code, said := as(t, user, group, command, url); code != exitOK {
			t.Errorf("%s %s as user %d: exit code %d: %s", command, url, user, code, said)
		}
		command = "generate"
	}
}

// TestUsers_RootFirst: files that root makes in the directory of another user belong to that user.
func TestUsers_RootFirst(t *testing.T) {
	t.Parallel()
	dir := folderOf(t, alice, team, 0o755)
	for _, url := range urlsOf(dir) {
		mustAs(t, url, alice, 0, alice, 0, alice)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 5 { // two files, their locks, and that of a worker ID
		t.Errorf("in the folder are %v, %v", files, err)
	}
	for _, f := range files {
		if got := access(t, filepath.Join(dir, f.Name())); !strings.HasPrefix(got, "41001 ") {
			t.Errorf("%s belongs to %s; want the owner of the folder", f.Name(), got)
		}
	}
}

// TestUsers_Group: users of a group share a directory of the group.
func TestUsers_Group(t *testing.T) {
	t.Parallel()
	for _, mode := range []os.FileMode{0o770, 0o770 | os.ModeSetgid} {
		for _, url := range urlsOf(folderOf(t, alice, team, mode)) {
			mustAs(t, url, team, alice, bob, alice)
		}
	}
}

// TestUsers_Kept: a file keeps the owner, group and mode that an operator has set.
func TestUsers_Kept(t *testing.T) {
	t.Parallel()
	dir := folderOf(t, alice, team, 0o755)
	for _, url := range urlsOf(dir) {
		path := filepath.Join(dir, "ids")
		if strings.HasPrefix(url, "static") {
			path = filepath.Join(dir, "state")
		}
		mustAs(t, url, alice, alice)
		if err := os.Chmod(path, 0o640); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, alice, others); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path+".lock", 0, 0); err != nil { // which alice may read
			t.Fatal(err)
		}
		if err := os.Chmod(path+".lock", 0o644); err != nil {
			t.Fatal(err)
		}
		for _, group := range []uint32{0, others} {
			user := min(group, alice)
			if code, said := as(t, user, group, "generate", url); code != exitOK {
				t.Errorf("%s as user %d: exit code %d: %s", url, user, code, said)
			}
		}
		if got := access(t, path); got != "41001 43000 -rw-r-----" {
			t.Errorf("%s is %s after a write", path, got)
		}
	}
}

// TestUsers_Refused: the error names the file or directory, its owner, and the command that helps.
func TestUsers_Refused(t *testing.T) {
	t.Parallel()
	closed := folderOf(t, 0, 0, 0o755)
	private := folderOf(t, alice, team, 0o755)
	if err := os.WriteFile(filepath.Join(private, "ids"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, barrier := range map[string]string{
		closed:  closed + " belongs to user 0 and group 0, with mode drwxr-xr-x",
		private: private + "/ids belongs to user 0 and group 0, with mode -rw-------",
	} {
		code, said := as(t, alice, alice, "generate", urlsOf(dir)[0])
		command := "; run 'chown 41001 " + strings.Fields(barrier)[0] + "'"
		if code == exitOK || !strings.Contains(said, barrier+command) ||
			strings.Count(said, "\n") != 1 {
			t.Errorf("exit code %d: %s\nwant one line that has %q", code, said, barrier+command)
		}
	}
}
