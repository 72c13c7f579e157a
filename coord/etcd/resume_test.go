package etcd_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// The lease is revoked while its holder lives: the holder puts it back, with the
// same worker ID and generation, and no call fails.
func TestLeaseRevoked(t *testing.T) {
	server := etcdtest.Start(t)
	ns := rand.Text()
	operator := server.Client(t)
	// The renewals are too far apart to notice: it is the watch that does.
	l := lease()
	l.TTL, l.Horizon, l.RenewEvery = 60*time.Second, 120*time.Second, 59*time.Second
	g := streamtest.Generate(t, newCoordinator(t, server.Client(t), ns, nil), core.Config{Lease: l})
	before := streamtest.Worker(t, g)
	ids := streamtest.Run(g)
	for range 3 {
		moment := time.Now()
		streamtest.Eventually(t, "the worker ID is held", func() bool { return stored(t, operator, ownerKey(ns, before.WorkerID)) != "" })
		endLease(t, operator, ns, before.WorkerID)
		streamtest.RenewedSince(t, g, moment)
		streamtest.Eventually(t, "the lease is put back", func() bool { return stored(t, operator, ownerKey(ns, before.WorkerID)) != "" })
	}
	ids.Stop(t, 10)
	if after := streamtest.Worker(t, g); after.WorkerID != before.WorkerID || after.Generation != before.Generation {
		t.Errorf("worker ID %d, generation %d became worker ID %d, generation %d", before.WorkerID, before.Generation, after.WorkerID, after.Generation)
	}
}
