package etcd_test

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/etcd"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// ward is how long nothing is granted after a loss was noticed.
const ward = etcd.MaxHorizon + etcd.DefaultSkewBound

// wantFloor checks that a newcomer of a namespace whose loss was noticed is granted nothing below
// the floor, nor below a window that was granted before.
func wantFloor(t *testing.T, server *etcdtest.Server, ns string, noticed int64, before ...coord.Grant) {
	t.Helper()
	floor := noticed + ward.Milliseconds()
	g := mustAcquire(t, newCoordinator(t, server.Client(t), ns, nil), request(capacity))
	if g.NotBefore < floor {
		t.Errorf("the loss was noticed at %d, granted was %v; want it to begin at %d or above", noticed, g, floor)
	}
	for _, b := range before {
		if g.NotBefore < b.NotAfter {
			t.Errorf("%v was granted although %v was", g, b)
		}
	}
}

// rollBack returns what puts the data folder of the server back to what it is now.
func rollBack(tb testing.TB, server *etcdtest.Server) func() {
	tb.Helper()
	backup := filepath.Join(tb.TempDir(), "backup")
	server.Stop()
	if err := os.CopyFS(backup, os.DirFS(server.Dir)); err != nil {
		tb.Fatal(err)
	}
	server.Restart(tb)
	return func() {
		tb.Helper()
		server.Stop()
		if err := os.RemoveAll(server.Dir); err != nil {
			tb.Fatal(err)
		}
		if err := os.CopyFS(server.Dir, os.DirFS(backup)); err != nil {
			tb.Fatal(err)
		}
		server.Restart(tb)
	}
}

// advance makes the cluster's revision rise by n, as others do who use it.
func advance(t *testing.T, client *clientv3.Client, n int) {
	t.Helper()
	for range n {
		if _, err := client.Put(within(t), "/others", ""); err != nil {
			t.Fatal(err)
		}
	}
}

// renewed renews a grant n times.
func renewed(t *testing.T, c *etcd.Coordinator, g coord.Grant, n int) coord.Grant {
	t.Helper()
	for range n {
		var err error
		if g, err = c.Renew(within(t), g, g.NotAfter+10); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// TestRollback: the server comes back with the data folder of an earlier moment. A holder whose
// slot is as it was notices it by the cluster's revision alone.
func TestRollback(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	ns := rand.Text()
	a := newCoordinator(t, server.Client(t), ns, nil)
	b := newCoordinator(t, server.Client(t), ns, nil)
	kept := mustAcquire(t, a, request(capacity))
	restore := rollBack(t, server)
	gone := mustAcquire(t, b, request(capacity))
	if _, err := a.Inspect(within(t)); err != nil {
		t.Fatal(err)
	}
	restore()
	noticed := tickNow()
	_, err := a.Renew(within(t), kept, kept.NotAfter+1000)
	q, ok := errors.AsType[*coord.QuarantinedError](err)
	if !ok || scale().Tick(q.Until.UnixMicro()) < noticed+ward.Milliseconds() {
		t.Errorf("Renew of %v after a loss at %d: %v; want %v for %v", kept, noticed, err, coord.ErrQuarantined, ward)
	}
	if h, err := b.Renew(within(t), gone, gone.NotAfter+1000); !errors.Is(err, coord.ErrLeaseLost) {
		t.Errorf("Renew of %v, which the cluster has forgotten: %v, %v; want %v", gone, h, err, coord.ErrLeaseLost)
	}
	wantFloor(t, server, ns, noticed, kept, gone)
}

// TestDeletedKeys: somebody deletes the namespace under its holders. Whatever they do next notices
// it.
func TestDeletedKeys(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	renew := func(c *etcd.Coordinator, g coord.Grant) error {
		_, err := c.Renew(within(t), g, g.NotAfter+1000)
		return err
	}
	for name, tt := range map[string]struct {
		folder string
		notice func(c *etcd.Coordinator, g coord.Grant) error
		want   error
	}{
		"everything, and Renew": {"", renew, coord.ErrLeaseLost},
		"the slots, and Renew":  {"slot/", renew, coord.ErrLeaseLost},
		"everything, and Release": {"", func(c *etcd.Coordinator, g coord.Grant) error {
			return c.Release(within(t), g, g.NotAfter)
		}, coord.ErrLeaseLost},
		"everything, and Acquire": {"", func(c *etcd.Coordinator, _ coord.Grant) error {
			_, err := c.Acquire(within(t), request(capacity))
			return err
		}, nil},
	} {
		ns := rand.Text()
		c := newCoordinator(t, server.Client(t), ns, nil)
		g := renewed(t, c, mustAcquire(t, c, request(capacity)), 1)
		if _, err := server.Client(t).Delete(within(t), "/unalike/"+ns+"/"+tt.folder, clientv3.WithPrefix()); err != nil {
			t.Fatal(err)
		}
		noticed := tickNow()
		if err := tt.notice(c, g); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v; want %v", name, err, tt.want)
		}
		wantFloor(t, server, ns, noticed, g)
	}
}

// TestOtherCluster: the namespace was restored into a cluster with another ID. That is noticed
// once, or is settled by an operator's Quarantine: the floor does not go up for ever.
func TestOtherCluster(t *testing.T) {
	t.Parallel()
	for name, settles := range map[string]bool{"nobody has said so": false, "an operator has": true} {
		old, restored := etcdtest.Start(t), etcdtest.Start(t)
		ns := rand.Text()
		from, to := old.Client(t), restored.Client(t)
		g := mustAcquire(t, newCoordinator(t, from, ns, nil), request(capacity))
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
		noticed := tickNow()
		c := newCoordinator(t, to, ns, nil)
		if settles {
			if _, err := c.Quarantine(within(t), time.Time{}); err != nil {
				t.Fatal(err)
			}
		} else {
			mustAcquire(t, c, request(capacity))
		}
		before, err := c.Inspect(within(t))
		if err != nil {
			t.Fatal(err)
		}
		wantFloor(t, restored, ns, noticed, g)
		if after, err := c.Inspect(within(t)); err != nil || !after.Floor.Equal(before.Floor) {
			t.Errorf("%s: the floor went from %v to %v, %v", name, before.Floor, after.Floor, err)
		}
	}
}

// TestGenerationGrantedTwice: each generation is granted once. If a holder finds its own generation
// with another token, a grant was lost, although every number is higher than before.
func TestGenerationGrantedTwice(t *testing.T) {
	t.Parallel()
	for _, hadBefore := range []bool{false, true} {
		server := etcdtest.Start(t)
		ns := rand.Text()
		a := newCoordinator(t, server.Client(t), ns, nil)
		b := newCoordinator(t, server.Client(t), ns, nil)
		if hadBefore { // so that the slot itself was not made again
			g := mustAcquire(t, a, request(1))
			if err := a.Release(within(t), g, g.NotBefore); err != nil {
				t.Fatal(err)
			}
		}
		restore := rollBack(t, server)
		held := renewed(t, a, mustAcquire(t, a, request(1)), 1)
		restore()
		advance(t, server.Client(t), 50)
		if other := mustAcquire(t, b, request(1)); other.Generation != held.Generation {
			t.Fatalf("granted was %v, and after the loss %v", held, other)
		}
		noticed := tickNow()
		if r, err := a.Renew(within(t), held, held.NotAfter+10); !errors.Is(err, coord.ErrLeaseLost) {
			t.Errorf("Renew of %v: %v, %v; want %v", held, r, err, coord.ErrLeaseLost)
		}
		wantFloor(t, server, ns, noticed, held)
	}
}

// TestNamespaceMadeAgain: a holder of a namespace that was deleted, and made again by others,
// knows that it is another one, whether it renews or acquires.
func TestNamespaceMadeAgain(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	for _, renews := range []bool{false, true} {
		ns := rand.Text()
		a := newCoordinator(t, server.Client(t), ns, nil)
		held := mustAcquire(t, a, request(capacity))
		if _, err := server.Client(t).Delete(within(t), "/unalike/"+ns+"/", clientv3.WithPrefix()); err != nil {
			t.Fatal(err)
		}
		// Twice, so that a's worker ID is held by somebody, too.
		b := newCoordinator(t, server.Client(t), ns, nil)
		for range 2 {
			mustAcquire(t, b, request(2))
		}
		noticed := tickNow()
		if renews {
			if _, err := a.Renew(within(t), held, held.NotAfter+10); !errors.Is(err, coord.ErrLeaseLost) {
				t.Errorf("Renew: %v; want %v", err, coord.ErrLeaseLost)
			}
		} else {
			mustAcquire(t, a, request(capacity))
		}
		wantFloor(t, server, ns, noticed, held)
	}
}
