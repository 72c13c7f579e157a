package proctest

import (
	"bytes"
	"net"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"
)

// ReadyTime is how long a server may take to serve, on a machine that is busy with other things.
const ReadyTime = 2 * time.Minute

// Server is a server in a process of its own, which can be started again. Its methods are not for
// concurrent use.
type Server struct {
	*Process // of the last start
	command  func() *exec.Cmd
	serves   func() bool
	said     *Output
}

// NewServer returns a server that is not started. Command makes a command for each start, of which
// the server sets the output, and serves reports whether the server serves.
func NewServer(command func() *exec.Cmd, serves func() bool) *Server {
	return &Server{command: command, serves: serves}
}

// launch starts the process, which ends with the test, and does not wait until it serves. If the
// test fails, it logs the end of what the server has said.
func (s *Server) launch(tb testing.TB) {
	tb.Helper()
	cmd, said := s.command(), new(Output)
	s.said, cmd.Stdout, cmd.Stderr = said, said, said
	s.Process = Start(tb, cmd)
	tb.Cleanup(func() {
		if tb.Failed() {
			text := said.String()
			tb.Logf("the end of what %s has said:\n%s", cmd.Path, text[max(0, len(text)-1<<10):])
		}
	})
}

// Said returns what the process has printed.
func (s *Server) Said() string { return s.said.String() }

// Await waits until the server serves. The test ends if it does not.
func (s *Server) Await(tb testing.TB) {
	tb.Helper()
	Eventually(tb, ReadyTime, s.cmd.Path+" serves", func() bool {
		if s.Ended() {
			tb.Fatalf("%s has ended before it served:\n%s", s.cmd.Path, s.said)
		}
		return s.serves()
	})
}

// Restart starts the server again, at the same address, with what is in its folder, and waits until
// it serves.
func (s *Server) Restart(tb testing.TB) { tb.Helper(); Restart(tb, s) }

// Restarter is a [Server], or what embeds one.
type Restarter interface{ base() *Server }

func (s *Server) base() *Server { return s }

// Restart starts those of some servers that have ended, or were never started, all at once, because
// one alone may serve nobody, and waits until they serve.
func Restart[S Restarter](tb testing.TB, all ...S) {
	tb.Helper()
	for _, one := range all {
		if s := one.base(); s.Process == nil || s.Ended() {
			s.launch(tb)
		}
	}
	for _, one := range all {
		one.base().Await(tb)
	}
}

// First returns the first of several servers of which something is so; it waits until there is one.
func First[S any](tb testing.TB, what string, all []S, so func(S) bool) (first S) {
	tb.Helper()
	Eventually(tb, ReadyTime, what, func() bool {
		return slices.ContainsFunc(all, func(one S) bool { first = one; return so(one) })
	})
	return first
}

// Listens reports whether somebody listens at an address of TCP.
func Listens(addr string) bool {
	c, err := net.Dial("tcp", addr)
	if err == nil {
		_ = c.Close()
	}
	return err == nil
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
