package backend

import (
	"strings"
	"testing"

	"github.com/unalike-id/unalike/faults/proxy"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// zk is a ZooKeeper ensemble, maybe of one server.
type zk struct {
	common
	ensemble *zktest.Ensemble
}

func startZK(tb testing.TB) Backend {
	tb.Helper()
	b := newZK(tb, "zk", &zktest.Ensemble{Servers: []*zktest.Server{zktest.Start(tb, zktest.Options{})}})
	return &b
}

func startZK3(tb testing.TB) Backend {
	tb.Helper()
	return &zk3{newZK(tb, "zk3", zktest.StartEnsemble(tb, 3, zktest.Options{}))}
}

func newZK(tb testing.TB, name string, e *zktest.Ensemble) zk {
	tb.Helper()
	b := zk{common{name: name, proxy: proxy.Start(tb, e.Addrs()...), call: "/unalike/", restart: e.Restart}, e}
	for _, s := range e.Servers {
		b.servers, b.dirs = append(b.servers, s), append(b.dirs, s.Dir)
	}
	return b
}

// URL implements Backend.
func (b *zk) URL(options ...string) string {
	return "zk://" + strings.Join(b.proxy.Addrs(), ",") + newSettings(options).query()
}

// EndSessions implements SessionEnder.
func (b *zk) EndSessions(tb testing.TB) int {
	tb.Helper()
	s := b.ensemble.Servers[0]
	if len(b.ensemble.Servers) > 1 {
		s = b.ensemble.Leader(tb) // the others know their own clients only
	}
	all := s.Sessions(tb)
	for _, id := range all {
		s.KillSession(tb, id)
	}
	return len(all)
}

// zk3 is an ensemble of three servers.
type zk3 struct{ zk }

// Leader implements Elected.
func (b *zk3) Leader(tb testing.TB) Server { tb.Helper(); return b.ensemble.Leader(tb) }
