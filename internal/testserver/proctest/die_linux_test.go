package proctest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// childEnv makes a run of this program start a process and wait for its end.
const childEnv = "UNALIKE_TEST_CHILD"

// TestEndsWithParent: a process ends when the one that has started it is killed, even if it is
// frozen then.
func TestEndsWithParent(t *testing.T) {
	t.Parallel()
	if os.Getenv(childEnv) != "" {
		p := Start(t, exec.Command("sleep", "600"))
		p.Freeze(t)
		fmt.Println(p.PID())
		<-p.Done()
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestEndsWithParent$")
	cmd.Env = append(os.Environ(), childEnv+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	parent := Start(t, cmd)
	var pid int
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	parent.Kill()
	Eventually(t, ReadyTime, "the process has ended", func() bool {
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	})
}
