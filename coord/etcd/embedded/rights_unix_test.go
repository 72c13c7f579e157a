//go:build unix

package embedded

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord"
)

// TestRightsOfTheFolder: a folder that every user can write is refused; one that is made, and a
// lock, are for their owner alone.
func TestRightsOfTheFolder(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o777, 0o702, 0o1777} {
		if err := os.Chmod(dir, mode); err != nil { // os.Mkdir would take the umask off
			t.Fatal(err)
		}
		if _, err := New(within(t), dir, "n", Options{}); !errors.Is(err, coord.ErrInvalid) ||
			!strings.Contains(err.Error(), "make that 0700") {
			t.Errorf("a folder of mode %#o: %v", mode, err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	openFolder(t, dir, "n")
	made := newDir(t)
	openFolder(t, made, "n")
	if info, err := os.Stat(made); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder that is made: %v, %v", info.Mode(), err)
	}
	info, err := os.Stat(folder{dir}.file(nameLock))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the lock: %v, %v", info.Mode(), err)
	}
}

// TestDebugVarsAreClosed: what etcd tells over HTTP about the process and what is stored is not for
// other users of the machine.
func TestDebugVarsAreClosed(t *testing.T) {
	t.Parallel()
	c := openFolder(t, newDir(t), "n")
	for _, path := range []string{
		"/debug/vars", "/metrics", "/version",
		"/v3/kv/range", "/v3/cluster/member/list", "/v3/maintenance/status",
	} {
		resp, err := http.Post("http://"+address(c)+path, "application/json",
			strings.NewReader(`{"key":"AA==","range_end":"AA=="}`))
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusNotFound && resp.StatusCode != http.StatusMisdirectedRequest {
			t.Errorf("%s: %s", path, resp.Status)
		}
		_ = resp.Body.Close()
	}
}
