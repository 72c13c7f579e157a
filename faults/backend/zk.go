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
	b := &Backend{
		Way: StartWay(tb, e.Addrs()...), call: []byte("/unalike/"),
		restart: func() { e.Restart(tb) },
	}
	for _, s := range e.Servers {
		b.Servers, b.dirs = append(b.Servers, s), append(b.dirs, s.Dir)
	}
	b.url = func(o url.Values) string { return "zk://" + strings.Join(b.Way.Addrs(), ",") + query(o) }
	asked := func() *zktest.Server { return e.Servers[0] }
	if servers > 1 {
		asked = func() *zktest.Server { return e.Leader(tb) } // the others know their own clients only
		b.Leader = func() Server { return asked() }
	}
	b.EndLeases = func() int {
		s := asked()
		all := s.Sessions(tb)
		for _, id := range all {
			s.KillSession(tb, id)
		}
		return len(all)
	}
	return b
}
