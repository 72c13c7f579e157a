package backend

import (
	"bytes"
	"testing"

	"github.com/unalike-id/unalike/faults/proxy"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/kubetest"
)

// kubernetes is an API server, with the etcd in which it keeps its objects, and without anything else of a cluster.
// Clients reach it as 'kubectl proxy' lets them, in plain text: so the proxy of the suite can tell requests
// apart. Another one stands between the API server and its etcd.
type kubernetes struct {
	common
	api *kubetest.Server
	in  string // the Kubernetes namespace
	own *etcd  // with the proxy between the two
}

func startKubernetes(tb testing.TB) Backend {
	tb.Helper()
	kubetest.Binary(tb) // else there is no use for the etcd
	cluster := etcdtest.StartCluster(tb, 1)
	own := newEtcd(tb, "kubernetes", cluster)
	api := kubetest.StartOn(tb, own.proxy.Addrs()[0])
	b := &kubernetes{
		common: common{name: "kubernetes", dirs: own.dirs, proxy: proxy.Start(tb, api.Proxy(tb))},
		api:    api, in: api.Namespace(tb), own: own,
	}
	store := &below{cluster.Members[0], api}
	b.servers = []Server{api, store} // the order in which they are ended
	b.restart = func(tb testing.TB) {
		tb.Helper()
		restartEnded(tb, store)
		restartEnded(tb, api)
	}
	return b
}

// below is the etcd of an API server. It serves when that does.
type below struct {
	*etcdtest.Member
	api *kubetest.Server
}

// Restart implements Server.
func (s *below) Restart(tb testing.TB) {
	tb.Helper()
	s.Member.Restart(tb)
	select {
	case <-s.api.Done():
	default:
		s.api.Await(tb)
	}
}

// URL implements Backend.
func (b *kubernetes) URL(options ...string) string {
	s := newSettings(options)
	s.usual("in", b.in)
	return "kubernetes+http://" + b.proxy.Addrs()[0] + s.query()
}

// Of all requests about Leases, a watch is not a call: it decides nothing, and has no reply that could be waited for.
var (
	leasesPath = []byte("/leases")
	watches    = []byte("watch=true")
)

// IsCall implements Backend.
func (b *kubernetes) IsCall(request []byte) bool {
	return bytes.Contains(request, leasesPath) && !bytes.Contains(request, watches)
}

// Restore implements Backend: the etcd is put back below an API server that goes on, which is started again
// then, as the runbook says.
func (b *kubernetes) Restore(tb testing.TB, snapshot string) {
	tb.Helper()
	b.RestoreBelow(tb, snapshot)
	b.api.Kill()
	b.Restart(tb)
}

// RestoreBelow implements Layered.
func (b *kubernetes) RestoreBelow(tb testing.TB, snapshot string) {
	tb.Helper()
	store := b.Store()
	store.Kill()
	b.replaceData(tb, snapshot)
	store.Restart(tb)
}

// Front implements Layered.
func (b *kubernetes) Front() Server { return b.api }

// Store implements Layered.
func (b *kubernetes) Store() Server { return b.servers[1] }

// Between implements Layered.
func (b *kubernetes) Between() *proxy.Proxy { return b.own.proxy }

// Fill implements Filler: the etcd takes no writes.
func (b *kubernetes) Fill(tb testing.TB) { tb.Helper(); b.own.Fill(tb) }

// Drain implements Filler.
func (b *kubernetes) Drain(tb testing.TB) { tb.Helper(); b.own.Drain(tb) }
