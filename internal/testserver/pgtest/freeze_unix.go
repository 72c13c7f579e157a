//go:build unix

package pgtest

import (
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
			send(s.children(), syscall.SIGKILL)
		}
	})
	send(s.children(), syscall.SIGSTOP)
}

// Thaw lets them go on.
func (s *Server) Thaw(tb testing.TB) {
	tb.Helper()
	send(s.children(), syscall.SIGCONT)
	s.thawed()
	s.Process.Thaw(tb)
}
