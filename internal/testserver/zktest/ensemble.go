package zktest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// Ensemble is several servers that elect a leader.
type Ensemble struct{ Servers []*Server }

// StartEnsemble runs n servers that end with the test.
func StartEnsemble(tb testing.TB, n int, o Options) *Ensemble {
	tb.Helper()
	need(tb)
	var e *Ensemble
	proctest.OnFreePorts(tb, 3*n, func(ports []int) bool {
		e = new(Ensemble)
		return e.launch(tb, ports, o)
	}, func() string { return e.Servers[0].log() })
	return e
}

// launch starts the servers, and reports whether they serve. Where one does not, the others end.
func (e *Ensemble) launch(tb testing.TB, ports []int, o Options) bool {
	tb.Helper()
	n := len(ports) / 3
	var lines []string
	for i := range n {
		s := newServer(tb, ports[3*i])
		e.Servers = append(e.Servers, s)
		lines = append(lines, fmt.Sprintf("server.%d=127.0.0.1:%d:%d;%s", i+1, ports[3*i+1], ports[3*i+2],
			s.Addr))
	}
	for i, s := range e.Servers {
		s.configure(tb, o, append([]string{"standaloneEnabled=false"}, lines...)...)
		if err := os.WriteFile(filepath.Join(s.Dir, "myid"), []byte(strconv.Itoa(i+1)),
			0o600); err != nil {
			tb.Fatal(err)
		}
		s.launch(tb)
	}
	for _, s := range e.Servers {
		if !s.await(tb) {
			for _, other := range e.Servers {
				other.Kill()
			}
			return false
		}
	}
	return true
}

// Restart starts the servers that have ended with what is in their folders, all at once,
// because one alone serves nobody, and waits until they serve.
func (e *Ensemble) Restart(tb testing.TB) {
	tb.Helper()
	proctest.RestartEnded(e.Servers, func(s *Server) { s.launch(tb) }, func(s *Server) {
		if !s.await(tb) {
			tb.Fatalf("a server of the ensemble does not start again:\n%s", s.log())
		}
	})
}

// Addrs returns the addresses of all servers.
func (e *Ensemble) Addrs() []string {
	var all []string
	for _, s := range e.Servers {
		all = append(all, s.Addr)
	}
	return all
}

// Leader returns the server that leads; it waits until one does.
func (e *Ensemble) Leader(tb testing.TB) (leader *Server) {
	tb.Helper()
	proctest.Eventually(tb, readyTime, "a server leads", func() bool {
		i := slices.IndexFunc(e.Servers, func(s *Server) bool { return s.Mode() == "leader" })
		if i >= 0 {
			leader = e.Servers[i]
		}
		return i >= 0
	})
	return leader
}
