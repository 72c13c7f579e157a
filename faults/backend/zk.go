package backend

import (
	"net/url"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// startZK is a ZooKeeper ensemble, maybe of one server.
func startZK(tb testing.TB, servers int) *Backend {
	tb.Helper()
	var e *zktest.Ensemble
	if servers == 1 {
		e = &zktest.Ensemble{Servers: []*zktest.Server{zktest.Start(tb, zktest.Options{})}}
	} else {
		e = zktest.StartEnsemble(tb, servers, zktest.Options{})
	}
	b := &Backend{Way: StartWay(tb, e.Addrs()...), call: []byte("/unalike/"), restart: e.Restart}
	for _, s := range e.Servers {
		b.Servers, b.dirs = append(b.Servers, s), append(b.dirs, s.Dir)
	}
	b.url = func(o url.Values) string { return "zk://" + strings.Join(b.Way.Addrs(), ",") + query(o) }
	asked := func(testing.TB) *zktest.Server { return e.Servers[0] }
	if servers > 1 {
		asked = e.Leader // the others know their own clients only
		b.Leader = func(tb testing.TB) Server { tb.Helper(); return e.Leader(tb) }
		// Servers that cannot be separated from each other stand still.
		b.CutOff = func(tb testing.TB, s Server) { tb.Helper(); s.Freeze(tb) }
		b.Rejoin = func(tb testing.TB, s Server) { tb.Helper(); s.Thaw(tb) }
	}
	b.EndLeases = func(tb testing.TB) int {
		tb.Helper()
		s := asked(tb)
		all := s.Sessions(tb)
		for _, id := range all {
			s.KillSession(tb, id)
		}
		return len(all)
	}
	return b
}
