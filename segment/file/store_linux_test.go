package file

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/unalike-id/unalike/segment"
)

// fullEnv has a process fill the disk of a file of numbers, and nobodyEnv has one use a file as
// another user. Both print what they see.
const fullEnv, nobodyEnv = "UNALIKE_TEST_FULL", "UNALIKE_TEST_NOBODY"

func init() {
	if dir, ok := os.LookupEnv(fullEnv); ok {
		child(fillDisk(dir))
	}
	if path, ok := os.LookupEnv(nobodyEnv); ok {
		child(errors.Join(syscall.Setuid(65534), takeOne(path)))
	}
}

// child ends this process, which prints an error.
func child(err error) {
	if err != nil {
		_, _ = os.Stdout.WriteString(err.Error() + "\n")
	}
	os.Exit(0)
}

// takeOne takes a number.
func takeOne(path string) error {
	s, err := New(path, Options{})
	if err == nil {
		_, err = s.Take(context.Background(), "a", 1)
	}
	return err
}

// fillDisk mounts a small disk at dir and returns the error of a take when it is full. Once there
// is room again, numbers have to go on.
func fillDisk(dir string) error {
	if err := errors.Join(syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""),
		syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k")); err != nil {
		return err
	}
	ctx, ballast := context.Background(), filepath.Join(dir, "ballast")
	s, err := New(filepath.Join(dir, "numbers"), Options{})
	if err != nil {
		return err
	}
	if err := s.Create(ctx, segment.Tag{Name: "a", Next: 1, Step: 10}); err != nil {
		return err
	}
	if os.WriteFile(ballast, make([]byte, 1<<20), 0o600) == nil {
		return errors.New("the disk is not full")
	}
	_, full := s.Take(ctx, "a", 10)
	if err := os.Remove(ballast); err != nil {
		return err
	}
	r, err := s.Take(ctx, "a", 10)
	if full == nil || r.First != 1 || err != nil {
		return errors.Join(errors.New("numbers do not go on"), err, full)
	}
	return full
}

// run starts this program again, and returns what it prints.
func run(t *testing.T, flags uintptr, env string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), env)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.Output()
	if errors.Is(err, syscall.EPERM) {
		t.Skip("skipped: this user may not make mount namespaces")
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestTake_FullDisk: a full disk is an error that says so, and numbers go on without a gap when
// there is room.
func TestTake_FullDisk(t *testing.T) {
	t.Parallel()
	if says := run(t, syscall.CLONE_NEWNS, fullEnv+"="+t.TempDir()); !strings.Contains(says,
		"make room on that disk") || strings.Contains(says, "do not go on") {
		t.Errorf("with a full disk: %s", says)
	}
}

// TestTake_OtherUser: another user shares the file if he may write its directory, and otherwise is
// told what to do.
func TestTake_OtherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("skipped: only root can become another user")
	}
	s, path := made(t)
	dir := filepath.Dir(path)
	for _, open := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(open, 0o755); err != nil { // #nosec G302 -- another user is to see it
			t.Fatal(err)
		}
	}
	says := run(t, 0, nobodyEnv+"="+path)
	if !strings.Contains(says, "this user may not write it: "+dir) {
		t.Errorf("in a directory of root: %s", says)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if says := run(t, 0, nobodyEnv+"="+path); says != "" {
		t.Errorf("in a directory of all: %s", says)
	}
	wantTake(t, s, "a", 2)
	if says := run(t, 0, nobodyEnv+"="+path); says != "" {
		t.Errorf("after another user: %s", says)
	}
	wantTake(t, s, "a", 13)
}
