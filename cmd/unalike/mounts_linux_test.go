package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// TestMounts: where one file is mounted, or a directory is mounted read-only, a start fails with
// one line that names the mount and the remedy.
func TestMounts(t *testing.T) {
	t.Parallel()
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		t.Skip("skipped: there is no unshare")
	}
	for name, tt := range map[string]struct{ mount, want string }{
		"one file": {
			"mount --bind other/ids here/ids",
			"is mounted alone, so that it cannot be replaced; mount its folder instead",
		},
		"read-only": {"mount --bind -o ro here here", "is on a file system that is mounted read-only"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := proctest.Folder(t, "unalike-mounts-")
			for _, at := range []string{"here", "other"} {
				url := "file://" + filepath.Join(dir, at, "ids") + "?namespace=n"
				if err := os.Mkdir(filepath.Join(dir, at), 0o755); err != nil {
					t.Fatal(err)
				}
				if got := call(t, nil, "", "init", "--coordinator", url); got.code != exitOK {
					t.Fatalf("%+v", got)
				}
			}
			p := startAs(t, t.TempDir(), func(cmd *exec.Cmd) {
				cmd.Args = append([]string{
					"unshare", "-m", "sh", "-c",
					tt.mount + ` || exit 99; exec "$0" "$@"`,
				}, cmd.Args...)
				cmd.Path, cmd.Dir = unshare, dir
			}, "generate", "--coordinator", "file://"+dir+"/here/ids?namespace=n")
			p.drain()
			code := p.wait()
			said := p.stderr.String()
			if code == 99 || strings.HasPrefix(said, "unshare:") {
				t.Skipf("skipped: this user may not mount: %s", said)
			}
			if code != exitFailure || strings.Count(said, "\n") != 1 || !strings.Contains(said, tt.want) {
				t.Errorf("exit code %d: %s\nwant one line that says %q", code, said, tt.want)
			}
		})
	}
}
