package proctest

import (
	"os/exec"
	"syscall"
)

// EndWithParent lets the system kill the process when this one dies, however it
// dies, and even if the process is frozen then.
func EndWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
