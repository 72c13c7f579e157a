//go:build unix

package pgtest

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Freeze stops all processes of the server, as a machine that hangs does. Those that are still
// stopped when the test ends would outlive it, because they do not see that their parent is gone.
func (s *Server) Freeze(tb testing.TB) {
	tb.Helper()
	s.Process.Freeze(tb) // which starts no more of them
	frozen := true
	s.thawed = func() { frozen = false }
	tb.Cleanup(func() {
		if frozen {
			s.children(tb, syscall.SIGKILL)
		}
	})
	s.children(tb, syscall.SIGSTOP)
}

// Thaw lets them go on.
func (s *Server) Thaw(tb testing.TB) {
	tb.Helper()
	s.children(tb, syscall.SIGCONT)
	s.thawed()
	s.Process.Thaw(tb)
}

// children sends a signal to the processes that serve connections, and to those in the
// background.
func (s *Server) children(tb testing.TB, signal syscall.Signal) {
	tb.Helper()
	out, err := exec.Command("pgrep", "-P", strconv.Itoa(s.PID())).Output()
	if err != nil {
		tb.Fatalf("pgrep: %v", err)
	}
	for field := range strings.FieldsSeq(string(out)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			tb.Fatal(err)
		}
		_ = syscall.Kill(pid, signal) // it may have ended
	}
}
