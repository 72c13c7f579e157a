//go:build unix

package pgtest

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// become has a program run as nobody.
func become(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: nobody, Gid: nobody},
	}
}

// Freeze stops all processes of the server, as a machine that hangs does.
func (s *Server) Freeze(tb testing.TB) {
	tb.Helper()
	s.Process.Freeze(tb) // which starts no more of them
	out, err := exec.Command("pgrep", "-P", strconv.Itoa(s.PID())).Output()
	if err != nil {
		tb.Fatalf("the processes of postgres cannot be listed: %v", err)
	}
	s.frozen = strings.Fields(string(out))
	tb.Cleanup(func() {
		if s.frozen != nil {
			s.Kill() // before the first process, of whose end they would not hear
		}
	})
	s.send(syscall.SIGSTOP)
}

// Thaw lets them go on.
func (s *Server) Thaw(tb testing.TB) {
	tb.Helper()
	s.send(syscall.SIGCONT)
	s.frozen = nil
	s.Process.Thaw(tb)
}

// send sends a signal to the processes that were stopped; some may have ended.
func (s *Server) send(signal syscall.Signal) {
	for _, pid := range s.frozen {
		if n, err := strconv.Atoi(pid); err == nil {
			_ = syscall.Kill(n, signal)
		}
	}
}

// Kill ends the first process of the server as kill -9 does, frozen or not, and returns when all
// are gone. While one of them is left, the server refuses to start again.
func (s *Server) Kill() {
	s.send(syscall.SIGKILL)
	s.frozen = nil
	s.Process.Kill() // which has ended when nobody has its output any more
}
