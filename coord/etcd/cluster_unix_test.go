//go:build unix

package etcd_test

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// The leader of three members goes away: nobody who wants IDs notices, and the
// window is extended again soon.
func TestLeaderGone(t *testing.T) {
	t.Parallel()
	for _, o := range drivertest.Outages() {
		t.Run(o.Name, func(t *testing.T) {
			cluster, ns := etcdtest.StartCluster(t, 3), rand.Text()
			connect := func() coord.Coordinator { return newCoordinator(t, cluster.Client(t), ns, nil) }
			drivertest.LeaderGone(t, connect, lease(), o, cluster.Leader(t))
		})
	}
}

// A holder sees only the leader, which is cut off from the others: it issues to the
// end of its window, and then says so. The others go on and give its worker ID away.
func TestMinority(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.StartDivisible(t, 3)
	ns := rand.Text()
	leader := cluster.Leader(t)
	var majority []string
	for _, m := range cluster.Members {
		if m != leader {
			majority = append(majority, m.Endpoint)
		}
	}
	cfg := core.Config{Lease: lease()}
	cfg.Lease.WorkerIDs = coord.Range{Count: 1}
	g := streamtest.Generate(t, newCoordinator(t, etcdtest.Connect(t, []string{leader.Endpoint}), ns, nil), cfg)
	old := streamtest.Run(g)
	streamtest.RenewedSince(t, g, time.Now())

	cluster.CutOff(t, leader)
	other := newCoordinator(t, etcdtest.Connect(t, majority), ns, nil)
	longer := cfg
	longer.Lease.Horizon = 30 * time.Second // this one is to have an ID at any time, on a slow machine as well
	var next *core.Generator
	streamtest.Eventually(t, "the worker ID is given to somebody else", func() bool {
		var err error
		next, err = core.New(within(t), other, longer)
		return err == nil
	})
	t.Cleanup(func() { _ = next.Close(within(t)) })
	first, err := next.NextContext(within(t))
	if err != nil {
		t.Fatal(err)
	}
	streamtest.Eventually(t, "the window of the minority ends", old.Failed)
	t.Logf("the minority issued %d IDs and then said: %v", old.N, old.Err)
	if !errors.Is(old.Err, core.ErrWindowEnded) || old.N < 100 {
		t.Errorf("after %d IDs the minority said: %v; want %v", old.N, old.Err, core.ErrWindowEnded)
	}
	if first <= old.Last {
		t.Errorf("the first ID of the majority, %d, is not above the last of the minority, %d", first, old.Last)
	}

	ids := streamtest.Run(next)
	cluster.Rejoin(t, leader)
	streamtest.Eventually(t, "the old holder learns that it is none", func() bool {
		return errors.Is(g.Health().Err, coord.ErrNoWorkerID)
	})
	streamtest.RenewedSince(t, next, time.Now())
	ids.Stop(t, 100)
}
