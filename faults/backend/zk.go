package backend

import (
	"net/url"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// startZK is a ZooKeeper ensemble, maybe of one server.
func startZK(tb testing.TB, servers int) *Backend {
	tb.Helper()
	all := zktest.StartAll(tb, servers, zktest.Options{})
	b := &Backend{call: []byte("/unalike/")}
	for _, s := range all {
		b.Servers, b.dirs = append(b.Servers, s), append(b.dirs, s.Dir)
		b.Way = append(b.Way, proxytest.Start(tb, s.Addr))
	}
	b.url = func(o url.Values) string { return "zk://" + strings.Join(b.Way.Addrs(), ",") + query(o) }
	asked := func() *zktest.Server { return all[0] }
	if servers > 1 {
		asked = func() *zktest.Server { // the others know their own clients only
			return proctest.First(tb, "a server leads", all, func(s *zktest.Server) bool {
				return s.Mode() == "leader"
			})
		}
		b.Leader = func() Server { return asked() }
	}
	b.EndLeases = func() int {
		s := asked()
		sessions := s.Sessions(tb)
		for _, id := range sessions {
			s.KillSession(tb, id)
		}
		return len(sessions)
	}
	return b
}
