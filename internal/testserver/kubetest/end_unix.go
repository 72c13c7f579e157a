//go:build unix

package kubetest

import (
	"syscall"
	"testing"
	"time"
)

// endTime is how long the API server may take to end in good order.
const endTime = 10 * time.Second

// Terminate ends the API server in good order, and returns when it is gone. One that takes too long
// is killed, as a kubelet does it.
func (s *Server) Terminate(tb testing.TB) {
	tb.Helper()
	if err := syscall.Kill(s.proc.PID(), syscall.SIGTERM); err != nil {
		s.proc.Kill() // it is gone
		return
	}
	late := time.NewTimer(endTime)
	defer late.Stop()
	select {
	case <-s.proc.Done():
	case <-late.C:
		s.proc.Kill()
	}
}
