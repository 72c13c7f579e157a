package zktest

import (
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
func (e *Ensemble) Restart(tb testing.TB) { tb.Helper(); proctest.Restart(tb, e.Servers...) }

// Addrs returns the addresses of all servers.
func (e *Ensemble) Addrs() []string {
	var all []string
	for _, s := range e.Servers {
		all = append(all, s.Addr)
	}
	return all
}

// Leader returns the server that leads; it waits until one does.
func (e *Ensemble) Leader(tb testing.TB) *Server {
	tb.Helper()
	return proctest.First(tb, "a server leads", e.Servers, func(s *Server) bool {
		return s.Mode() == "leader"
	})
}
