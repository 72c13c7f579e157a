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
