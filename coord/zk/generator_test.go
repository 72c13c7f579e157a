package zk_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// lease are times that make a test short.
func lease() coord.LeaseConfig {
	return coord.LeaseConfig{
		TTL: 2 * time.Second, Horizon: 8 * time.Second,
		RenewEvery: 500 * time.Millisecond,
	}
}

// TestOwnerDeleted: somebody deletes the owner node. The holder is told and puts it
// back.
func TestOwnerDeleted(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	ns, o := rand.Text(), newOperator(t, []string{server.Addr})
	l := lease()
	// so that the next renewal is far
	l.TTL, l.Horizon, l.RenewEvery = 60*time.Second, 60*time.Second, 20*time.Second
	g := streamtest.Generate(t, newCoordinator(t, []string{server.Addr}, ns, nil),
		core.Config{Lease: l})
	before, last := g.Health().Workers[0], core.ID(0)
	streamtest.Eventually(t, "the owner node is put back", func() bool {
		// The watch is set a moment after the grant; deleting again does no harm.
		if err := o.Delete(ownerPath(ns, before.WorkerID), -1); err != nil {
			return false
		}
		if id, err := g.Next(); err != nil || id <= last {
			safetytest.Unless(t, err).Errorf("after %d comes %d, %v", last, id, err)
		} else {
			last = id
		}
		pause := time.NewTimer(100 * time.Millisecond)
		<-pause.C
		return o.owner(t, ns, before.WorkerID) != 0
	})
	if after := g.Health().Workers[0]; after.WorkerID != before.WorkerID ||
		after.Generation != before.Generation {
		t.Errorf("%+v became %+v", before, after)
	}
}

// TestNobodyRenews: a lease ends when nobody renews it, although the process lives
// and so does its connection.
func TestNobodyRenews(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	ns, o := rand.Text(), newOperator(t, []string{server.Addr})
	c := newCoordinator(t, []string{server.Addr}, ns, nil)
	req := request(1)
	req.TTL = time.Second
	g := mustAcquire(t, c, req)
	select {
	case <-c.Lost(g):
	case <-time.After(callTime):
		t.Fatal("there is no hint")
	}
	streamtest.Eventually(t, "the worker ID is free", func() bool {
		return o.owner(t, ns, g.WorkerID) == 0
	})
	r, err := c.Renew(within(t), g, g.NotAfter+1000)
	if err != nil || r.NotBefore != g.NotBefore || o.owner(t, ns, g.WorkerID) == 0 {
		t.Errorf("Renew of %v after that: %v, %v", g, r, err)
	}
}
