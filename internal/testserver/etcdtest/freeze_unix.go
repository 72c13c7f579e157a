//go:build unix

package etcdtest

import (
	"syscall"
	"testing"
)

// Freeze stops the process without ending it, as SIGSTOP does.
func (m *Member) Freeze(tb testing.TB) {
	tb.Helper()
	m.signal(tb, syscall.SIGSTOP)
}

// Thaw lets a frozen process go on.
func (m *Member) Thaw(tb testing.TB) {
	tb.Helper()
	m.signal(tb, syscall.SIGCONT)
}

func (m *Member) signal(tb testing.TB, s syscall.Signal) {
	tb.Helper()
	if err := m.cmd.Process.Signal(s); err != nil {
		tb.Fatal(err)
	}
}
