package etcd_test

import (
	"crypto/rand"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/coord/follow"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// TestEndOfOnlyReads: looking how far a namespace has come adds no revision. Each would cost
// every holder a second transaction.
func TestEndOfOnlyReads(t *testing.T) {
	server := etcdtest.Start(t)
	client, ns := server.Client(t), rand.Text()
	c := newCoordinator(t, client, ns, nil)
	g := mustAcquire(t, c, request(1))
	if err := c.Release(within(t), g, g.NotAfter); err != nil {
		t.Fatal(err)
	}
	revision := func() int64 {
		t.Helper()
		r, err := client.Get(within(t), "/", clientv3.WithCountOnly())
		if err != nil {
			t.Fatal(err)
		}
		return r.Header.Revision
	}
	before := revision()
	end, err := follow.EndOf(within(t), c, space())
	if want := scale().Micro(g.NotAfter + 1); err != nil || end.Until.UnixMicro() != want {
		t.Errorf("EndOf: %+v, %v; want the end of tick %d", end, err, g.NotAfter)
	}
	if after := revision(); after != before {
		t.Errorf("EndOf has written: revision %d is %d now", before, after)
	}
}
