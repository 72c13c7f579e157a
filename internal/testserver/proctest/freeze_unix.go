//go:build unix

package proctest

import (
	"errors"
	"syscall"
	"testing"
)

// Freeze stops the process without ending it, as SIGSTOP does. It returns when all of it
// has stopped: the signal alone lets it answer for a while.
func (p *Process) Freeze(tb testing.TB) {
	tb.Helper()
	p.Signal(tb, syscall.SIGSTOP)
	var status syscall.WaitStatus
	_, err := syscall.Wait4(p.PID(), &status, syscall.WUNTRACED, nil)
	for errors.Is(err, syscall.EINTR) {
		_, err = syscall.Wait4(p.PID(), &status, syscall.WUNTRACED, nil)
	}
	if err != nil || !status.Stopped() {
		tb.Fatalf("process %d has not stopped: %v, %v", p.PID(), status, err)
	}
}

// Thaw lets a frozen process go on.
func (p *Process) Thaw(tb testing.TB) {
	tb.Helper()
	p.Signal(tb, syscall.SIGCONT)
}
