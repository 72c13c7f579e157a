package zktest

import (
	"slices"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// Ensemble is several servers that elect a leader.
type Ensemble struct{ Servers []*Server }

// StartEnsemble runs n servers that end with the test.
func StartEnsemble(tb testing.TB, n int, o Options) *Ensemble {
	tb.Helper()
	return &Ensemble{Servers: start(tb, n, o, true)}
}

// Restart starts the servers that have ended with what is in their folders, all at once,
// because one alone serves nobody, and waits until they serve.
func (e *Ensemble) Restart(tb testing.TB) { tb.Helper(); restart(tb, e.Servers) }

// restart starts those servers that do not run, and waits until all serve.
func restart(tb testing.TB, servers []*Server) {
	tb.Helper()
	var all []*proctest.Server
	for _, s := range servers {
		all = append(all, s.Server)
	}
	proctest.Restart(tb, all...)
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
