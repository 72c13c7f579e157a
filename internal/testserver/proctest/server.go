package proctest

import (
	"bytes"
	"net"
	"os"
	"sync"
	"testing"
	"time"
)

// ReadyTime is how long a server may take to serve, on a machine that is busy with other things.
const ReadyTime = 2 * time.Minute

// starts is how often a server is started with other ports, because somebody took them
// meanwhile.
const starts = 5

// OnFreePorts calls launch with n free ports, and again with others if it reports that what it has
// started has ended. In the end the test fails, with what said returns.
func OnFreePorts(tb testing.TB, n int, launch func(ports []int) bool, said func() string) {
	tb.Helper()
	for range starts {
		if launch(FreePorts(tb, n)) {
			return
		}
	}
	tb.Fatalf("a server does not start:\n%s", said())
}

// Serves waits until the process serves; false: it has ended before, or was ended because it did
// not serve in time.
func (p *Process) Serves(tb testing.TB, serves func() bool) bool {
	tb.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(ReadyTime); !serves(); <-look.C {
		if p.Ended() {
			return false
		}
		if time.Now().After(deadline) {
			tb.Logf("%s does not serve after %v", p.cmd.Path, ReadyTime)
			p.Kill()
			return false
		}
	}
	return true
}

// Listens reports whether somebody listens at an address of TCP.
func Listens(addr string) bool {
	c, err := net.Dial("tcp", addr)
	if err == nil {
		_ = c.Close()
	}
	return err == nil
}

// RestartEnded launches those of some servers that have ended, all at once, because one alone may
// serve nobody, and then waits for each.
func RestartEnded[S interface{ Ended() bool }](all []S, launch, await func(S)) {
	var ended []S
	for _, s := range all {
		if s.Ended() {
			launch(s)
			ended = append(ended, s)
		}
	}
	for _, s := range ended {
		await(s)
	}
}

// Tail returns the end of a log file, or why it cannot be read.
func Tail(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	const most = 8 << 10
	return string(b[max(0, len(b)-most):])
}

// Eventually waits until something is so; the test ends if it is not within limit.
func Eventually(tb testing.TB, limit time.Duration, what string, so func() bool) {
	tb.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(limit); !so(); <-look.C {
		if time.Now().After(deadline) {
			tb.Fatalf("not within %v: %s", limit, what)
		}
	}
}

// Output keeps what a server prints. It is for concurrent use.
type Output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements [io.Writer].
func (o *Output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

// String returns all that was printed.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
