package file

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/safetytest"
)

func init() {
	inContainer = func() error {
		exe, err := os.Executable()
		if err != nil {
			return err
		}
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), childContainer+"=")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags: syscall.CLONE_NEWPID,
			Pdeathsig:  syscall.SIGKILL,
		}
		return cmd.Run()
	}
}

// TestContainers: two containers of one machine, in each of which the program is process 1, share a
// file.
func TestContainers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ids")
	c, err := New(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	drivertest.MustAcquire(t, c, request(workers))
	held := map[int]bool{}
	for range 2 {
		child := drivertest.StartChild(t, childURL+"=file://"+path, childContainer+"=1")
		line := child.Line(t)
		if strings.Contains(line, "operation not permitted") {
			t.Skip("skipped: this user may not make PID namespaces")
		}
		id, err := strconv.ParseInt(line, 10, 64)
		if err != nil {
			t.Fatalf("a container says %s", line)
		}
		held[core.DefaultLayout().Decompose(core.ID(id)).WorkerID] = true
	}
	if len(held) != 2 {
		safetytest.Of(t).Errorf("two containers have %v", held)
	}
}
