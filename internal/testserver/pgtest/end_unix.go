//go:build unix

package pgtest

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Kill ends all processes of the server as kill -9 does, frozen or not, and returns when they
// are gone. While one of them is left, the server refuses to start again.
func (s *Server) Kill() {
	pids := s.children()
	s.Process.Kill()
	send(pids, syscall.SIGKILL)
	for len(pids) > 0 && running(pids) {
		time.Sleep(time.Millisecond)
	}
}

// running reports whether one of some processes is not a zombie.
func running(pids []string) bool {
	// it fails if there is none
	out, _ := exec.Command("ps", "-o", "stat=", "-p", strings.Join(pids, ",")).Output()
	for state := range strings.FieldsSeq(string(out)) {
		if !strings.HasPrefix(state, "Z") {
			return true
		}
	}
	return false
}

// children returns the numbers of the processes that serve connections, and of those in the
// background; none is found if the server is gone.
func (s *Server) children() []string {
	out, _ := exec.Command("pgrep", "-P", strconv.Itoa(s.PID())).Output()
	return strings.Fields(string(out))
}

// send sends a signal to processes that may have ended.
func send(pids []string, signal syscall.Signal) {
	for _, pid := range pids {
		if n, err := strconv.Atoi(pid); err == nil {
			_ = syscall.Kill(n, signal)
		}
	}
}

// Terminate ends the server in good order, with the connections that its clients have. SIGTERM
// would have it wait for them.
func (s *Server) Terminate(tb testing.TB) {
	tb.Helper()
	s.Signal(tb, syscall.SIGINT)
	<-s.Done()
}
