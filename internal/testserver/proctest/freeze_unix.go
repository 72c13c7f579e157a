//go:build unix

package proctest

import (
	"syscall"
	"testing"
)

// Freeze stops the process without ending it, as SIGSTOP does.
func (p *Process) Freeze(tb testing.TB) {
	tb.Helper()
	p.signal(tb, syscall.SIGSTOP)
}

// Thaw lets a frozen process go on.
func (p *Process) Thaw(tb testing.TB) {
	tb.Helper()
	p.signal(tb, syscall.SIGCONT)
}

// Terminate asks the process to end, as SIGTERM does, and waits until it has.
func (p *Process) Terminate(tb testing.TB) {
	tb.Helper()
	p.signal(tb, syscall.SIGTERM)
	<-p.done
}

func (p *Process) signal(tb testing.TB, s syscall.Signal) {
	tb.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		tb.Fatalf("%s: %v", p.cmd.Path, err)
	}
}
