//go:build unix

package pgtest

import (
	"os/exec"
	"syscall"
	"testing"
)

// become has a program run as somebody who is not root.
func become(tb testing.TB, cmd *exec.Cmd) {
	tb.Helper()
	uid, gid := other(tb)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: gid}}
}
