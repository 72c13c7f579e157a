package backend

import (
	"strings"
	"testing"

	"github.com/unalike-id/unalike/faults/proxy"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// etcd is an etcd cluster, maybe of one member.
type etcd struct {
	common
	cluster *etcdtest.Cluster
}

func startEtcd(tb testing.TB) Backend {
	tb.Helper()
	return newEtcd(tb, "etcd", etcdtest.StartCluster(tb, 1))
}

func newEtcd(tb testing.TB, name string, c *etcdtest.Cluster) *etcd {
	tb.Helper()
	b := &etcd{common{name: name, proxy: proxy.Start(tb, c.Endpoints()...), call: "/unalike/", restart: c.Restart}, c}
	for _, m := range c.Members {
		b.servers, b.dirs = append(b.servers, m), append(b.dirs, m.Dir)
	}
	return b
}

// URL implements Backend.
func (b *etcd) URL(options ...string) string {
	s := newSettings(options)
	return "etcd://" + strings.Join(b.proxy.Addrs(), ",") + "/" + s.take("namespace") + s.query()
}
