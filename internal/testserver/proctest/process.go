package proctest

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// Process is a process that was started for a test. Its methods are not for
// concurrent use, except Done.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// Start starts cmd, which is not started yet, and kills it when the test ends. What
// else is to be set in cmd, such as its output, is up to the caller.
func Start(tb testing.TB, cmd *exec.Cmd) *Process {
	tb.Helper()
	_ = os.Getenv(serversEnv)
	EndWithParent(cmd)
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	p := &Process{cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		_ = cmd.Wait() // how a server ends that was killed tells nothing
	}()
	tb.Cleanup(p.Kill)
	return p
}

// Kill ends the process as kill -9 does, frozen or not, and returns when it is gone.
// Killing what is gone does nothing.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// Terminate asks the process to end, as SIGTERM does, and waits until it has.
func (p *Process) Terminate(tb testing.TB) {
	tb.Helper()
	p.Signal(tb, syscall.SIGTERM)
	<-p.done
}

// Signal sends a signal to the process; a test whose process cannot get it ends.
func (p *Process) Signal(tb testing.TB, s os.Signal) {
	tb.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		tb.Fatalf("%s: %v", p.cmd.Path, err)
	}
}

// EndIn waits until the process is gone, and kills it if that takes longer than limit, as service
// managers do. It reports whether it has ended by itself.
func (p *Process) EndIn(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		p.Kill()
		return false
	}
}

// Ended reports whether the process is gone.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Done is closed when the process is gone.
func (p *Process) Done() <-chan struct{} { return p.done }

// PID returns the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }
