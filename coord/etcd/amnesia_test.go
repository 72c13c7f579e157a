package etcd_test

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/etcd"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// ward is how long nothing is granted after a loss was noticed.
const ward = etcd.MaxHorizon + etcd.DefaultSkewBound

// wantFloor checks that what is granted begins after everything that can have been
// granted before, and that the holders' windows go on above it.
func wantFloor(t *testing.T, fresh *etcd.Coordinator, noticed int64, before ...coord.Grant) {
	t.Helper()
	floor := noticed + ward.Milliseconds()
	g := mustAcquire(t, fresh, request(capacity))
	if g.NotBefore < floor {
		t.Errorf("the loss was noticed at %d, granted was %v; want it to begin at %d or above", noticed, g, floor)
	}
	for _, b := range before {
		if g.NotBefore < b.NotAfter {
			t.Errorf("%v was granted although %v was", g, b)
		}
	}
}

// quarantined checks that a holder's window did not grow, and says so.
func quarantined(t *testing.T, c *etcd.Coordinator, g coord.Grant, noticed int64) {
	t.Helper()
	ward := etcd.MaxHorizon + closely // or more
	h, err := c.Renew(within(t), g, g.NotAfter+1000)
	var q *coord.QuarantinedError
	if !errors.Is(err, coord.ErrQuarantined) || !errors.As(err, &q) {
		t.Fatalf("Renew of %v after a loss: %v, %v; want %v", g, h, err, coord.ErrQuarantined)
	}
	if end := scale().Micro(noticed + ward.Milliseconds()); q.Until.UnixMicro() < end {
		t.Errorf("quarantined until %v; the loss was noticed at %v", q.Until, time.UnixMicro(scale().Micro(noticed)))
	}
	// The holder comes with what it had before the loss, again and again. That is no
	// further loss.
	for range 3 {
		var still *coord.QuarantinedError
		if h, err := c.Renew(within(t), g, g.NotAfter+1000); !errors.As(err, &still) || !still.Until.Equal(q.Until) {
			t.Errorf("Renew in quarantine until %v: %v, %v", q.Until, h, err)
		}
	}
	// A clock that has come that far goes on above the floor.
	until := tickNow() + 2*ward.Milliseconds()
	h, err = c.Renew(within(t), g, until)
	if err != nil || h.NotBefore < noticed+ward.Milliseconds() || h.NotAfter != until {
		t.Errorf("Renew of %v until %d after a loss: %v, %v; want a piece above the floor", g, until, h, err)
	}
}

// rollBack puts the data folder of the server back to what it was when rollBack was
// called, when the returned function is called. What was seen before that is certainly
// older than what is seen after it, for clocks that may differ by closely.
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
		later, stop := clock.Alarm(clock.System(), time.Now().Add(3*closely).UnixMicro())
		defer stop()
		<-later
	}
}

// TestRollback: the server comes back with the data folder of an earlier moment.
func TestRollback(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	ns := rand.Text()
	a := newCoordinator(t, server.Client(t), ns, nil)
	b := newCoordinator(t, server.Client(t), ns, nil)
	kept := mustAcquire(t, a, request(capacity))
	kept, err := a.Renew(within(t), kept, kept.NotAfter+1000)
	if err != nil {
		t.Fatal(err)
	}
	restore := rollBack(t, server)
	gone := mustAcquire(t, b, request(capacity))
	moved := kept
	for range 20 {
		if moved, err = a.Renew(within(t), moved, moved.NotAfter+100); err != nil {
			t.Fatal(err)
		}
	}
	restore()
	noticed := tickNow()
	quarantined(t, a, moved, noticed)
	if h, err := b.Renew(within(t), gone, gone.NotAfter+1000); !errors.Is(err, coord.ErrLeaseLost) {
		t.Errorf("Renew of %v, which the cluster has forgotten: %v, %v; want %v", gone, h, err, coord.ErrLeaseLost)
	}
	wantFloor(t, newCoordinator(t, server.Client(t), ns, nil), noticed, kept, moved, gone)
}

// TestRollbackOfOthers: the holder's own slot is as it was, and only the cluster's
// revision shows that writes were lost.
func TestRollbackOfOthers(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	ns := rand.Text()
	c := newCoordinator(t, server.Client(t), ns, nil)
	kept := mustAcquire(t, c, request(capacity))
	restore := rollBack(t, server)
	gone := mustAcquire(t, c, request(capacity))
	restore()
	noticed := tickNow()
	quarantined(t, c, kept, noticed)
	wantFloor(t, newCoordinator(t, server.Client(t), ns, nil), noticed, kept, gone)
}

// TestReplayBelowTheFloor: the answer to a grant does not arrive, and before the request
// is made again, the floor is raised. What was granted is given up: if the floor was
// raised because windows were lost, it may overlap with one of them.
func TestReplayBelowTheFloor(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	ns := rand.Text()
	drivertest.ReplayBelowTheFloor(t, func() coord.Coordinator { return newCoordinator(t, server.Client(t), ns, nil) })
}

// TestDeletedKeys: somebody deletes the namespace under its holders.
func TestDeletedKeys(t *testing.T) {
	server := etcdtest.Start(t)
	for name, folder := range map[string]string{"everything": "", "the slots": "slot/"} {
		t.Run(name, func(t *testing.T) {
			ns := rand.Text()
			c := newCoordinator(t, server.Client(t), ns, nil)
			g := mustAcquire(t, c, request(capacity))
			if _, err := server.Client(t).Delete(within(t), "/unalike/"+ns+"/"+folder, clientv3.WithPrefix()); err != nil {
				t.Fatal(err)
			}
			noticed := tickNow()
			if h, err := c.Renew(within(t), g, g.NotAfter+1000); !errors.Is(err, coord.ErrLeaseLost) {
				t.Errorf("Renew of %v, which was deleted: %v, %v; want %v", g, h, err, coord.ErrLeaseLost)
			}
			wantFloor(t, newCoordinator(t, server.Client(t), ns, nil), noticed, g)
		})
	}
}

// TestReleaseAfterLoss: a release notices a loss, too.
func TestReleaseAfterLoss(t *testing.T) {
	server := etcdtest.Start(t)
	ns := rand.Text()
	c := newCoordinator(t, server.Client(t), ns, nil)
	g := mustAcquire(t, c, request(1))
	g, err := c.Renew(within(t), g, g.NotAfter+60_000)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.Client(t).Delete(within(t), "/unalike/"+ns+"/", clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}
	noticed := tickNow()
	if err := c.Release(within(t), g, g.NotAfter); !errors.Is(err, coord.ErrLeaseLost) {
		t.Errorf("Release of %v, which was deleted: %v; want %v", g, err, coord.ErrLeaseLost)
	}
	wantFloor(t, newCoordinator(t, server.Client(t), ns, nil), noticed, g)
}

// TestDeletedNamespaceIsRemembered: whoever knew the namespace makes it anew with a
// floor.
func TestDeletedNamespaceIsRemembered(t *testing.T) {
	server := etcdtest.Start(t)
	ns := rand.Text()
	c := newCoordinator(t, server.Client(t), ns, nil)
	g := mustAcquire(t, c, request(capacity))
	if _, err := server.Client(t).Delete(within(t), "/unalike/"+ns+"/", clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}
	wantFloor(t, c, tickNow(), g)
}

// TestOtherCluster: the namespace was restored into a cluster with another ID.
func TestOtherCluster(t *testing.T) {
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
	wantFloor(t, c, noticed, g)
	// It is noticed once: the floor does not go up for ever.
	h, i := mustAcquire(t, c, request(capacity)), mustAcquire(t, newCoordinator(t, to, ns, nil), request(capacity))
	if h.NotBefore != i.NotBefore {
		t.Errorf("the floor went up again, from %d to %d", h.NotBefore, i.NotBefore)
	}
}

// TestRestart: a server that comes back with everything it had is no reason for
// anything.
func TestRestart(t *testing.T) {
	server := etcdtest.Start(t)
	ns := rand.Text()
	c := newCoordinator(t, server.Client(t), ns, nil)
	g := mustAcquire(t, c, request(capacity))
	server.Stop()
	server.Restart(t)
	h, err := c.Renew(within(t), g, g.NotAfter+1000)
	if err != nil || h.NotBefore != g.NotBefore || h.NotAfter != g.NotAfter+1000 {
		t.Errorf("Renew of %v after a restart: %v, %v", g, h, err)
	}
	if h = mustAcquire(t, c, request(capacity)); h.NotBefore > tickNow() {
		t.Errorf("Acquire after a restart: %v; now is %d", h, tickNow())
	}
}

// TestLossOfLongWindows: the same in a namespace that was declared with long windows.
func TestLossOfLongWindows(t *testing.T) {
	t.Parallel()
	server, ns := etcdtest.Start(t), rand.Text()
	drivertest.LossOfLongWindows(t,
		func() drivertest.Operated { return newCoordinator(t, server.Client(t), ns, nil) },
		func() func() { return rollBack(t, server) })
}
