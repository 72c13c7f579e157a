package etcd_test

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/etcd"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// rollBack returns what puts the data folder of the server back to what it is now.
func rollBack(tb testing.TB, server *etcdtest.Server) func() {
	tb.Helper()
	backup := filepath.Join(tb.TempDir(), "backup")
	server.Kill()
	if err := os.CopyFS(backup, os.DirFS(server.Dir)); err != nil {
		tb.Fatal(err)
	}
	server.Restart(tb)
	return func() {
		tb.Helper()
		server.Kill()
		if err := os.RemoveAll(server.Dir); err != nil {
			tb.Fatal(err)
		}
		if err := os.CopyFS(server.Dir, os.DirFS(backup)); err != nil {
			tb.Fatal(err)
		}
		server.Restart(tb)
	}
}

// TestRolledBack: the data folder of the server is put back. The holder notices, and nothing is
// granted until the windows are over that are not on record any more.
func TestRolledBack(t *testing.T) {
	t.Parallel()
	server, ns := etcdtest.Start(t), rand.Text()
	c := newCoordinator(t, server.Client(t), ns)
	g := mustAcquire(t, c, request(1))
	back := rollBack(t, server)
	g, err := c.Renew(within(t), g, g.NotAfter+1)
	if err != nil {
		t.Fatal(err)
	}
	back()
	floor := tickNow() + (etcd.MaxHorizon + etcd.DefaultSkewBound).Milliseconds()
	if h, err := c.Renew(within(t), g, g.NotAfter+1); !errors.Is(err, coord.ErrQuarantined) {
		safetytest.Unless(t, err).Errorf("Renew of %v: %v, %v; want %v", g, h, err, coord.ErrQuarantined)
	}
	if h := mustAcquire(t, newCoordinator(t, server.Client(t), ns),
		request(capacity)); h.NotBefore < floor {
		safetytest.Of(t).Errorf("granted is %v; want it to begin at %d or above", h, floor)
	}
}

// TestOtherCluster: the namespace was restored into a cluster with another ID. That is noticed
// once: the floor does not go up for ever.
func TestOtherCluster(t *testing.T) {
	t.Parallel()
	from, to, ns := etcdtest.Start(t).Client(t), etcdtest.Start(t).Client(t), rand.Text()
	mustAcquire(t, newCoordinator(t, from, ns), request(capacity))
	resp, err := from.Get(within(t), "/unalike/"+ns+"/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range resp.Kvs {
		if kv.Lease != 0 {
			continue // its holder is gone
		}
		if _, err := to.Put(within(t), string(kv.Key), string(kv.Value)); err != nil {
			t.Fatal(err)
		}
	}
	c := newCoordinator(t, to, ns)
	floor := tickNow() + (etcd.MaxHorizon + etcd.DefaultSkewBound).Milliseconds()
	if g := mustAcquire(t, c, request(capacity)); g.NotBefore < floor {
		safetytest.Of(t).Errorf("granted is %v; want it to begin at %d or above", g, floor)
	}
	before, err := c.Inspect(within(t))
	if err != nil {
		t.Fatal(err)
	}
	mustAcquire(t, newCoordinator(t, to, ns), request(capacity))
	if after, err := c.Inspect(within(t)); err != nil || !after.Floor.Equal(before.Floor) {
		safetytest.Unless(t, err).Errorf("the floor went from %v to %v, %v", before.Floor, after.Floor,
			err)
	}
}
