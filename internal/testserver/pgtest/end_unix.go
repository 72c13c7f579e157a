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
	children, _ := exec.Command("pgrep", "-P", strconv.Itoa(s.PID())).Output() // none is found if the server is gone
	s.Process.Kill()
	pids := strings.Fields(string(children))
	for _, pid := range pids {
		if n, err := strconv.Atoi(pid); err == nil {
			_ = syscall.Kill(n, syscall.SIGKILL) // it may have ended
		}
	}
	for len(pids) > 0 && running(pids) {
		time.Sleep(time.Millisecond)
	}
}

// running reports whether one of some processes is not a zombie.
func running(pids []string) bool {
	out, _ := exec.Command("ps", "-o", "stat=", "-p", strings.Join(pids, ",")).Output() // it fails if there is none
	for state := range strings.FieldsSeq(string(out)) {
		if !strings.HasPrefix(state, "Z") {
			return true
		}
	}
	return false
}

// Terminate ends the server in good order, with the connections that its clients have. SIGTERM
// would have it wait for them.
func (s *Server) Terminate(tb testing.TB) {
	tb.Helper()
	if err := syscall.Kill(s.PID(), syscall.SIGINT); err != nil {
		tb.Fatalf("the server does not end: %v", err)
	}
	<-s.Done()
}
