//go:build unix

package etcd_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// The leader of three members goes away: nobody who wants IDs notices, and the
// window is extended again soon.
func TestLeaderGone(t *testing.T) {
	for _, o := range outages() {
		t.Run(o.name, func(t *testing.T) {
			cluster := etcdtest.StartCluster(t, 3)
			ns := rand.Text()
			g := generate(t, newCoordinator(t, cluster.Client(t), ns, nil), core.Config{Lease: lease()})
			before := worker(t, g)
			ids := run(g)
			renewedSince(t, g, time.Now())
			leader := cluster.Leader(t)
			moment := time.Now()
			o.begin(t, leader)
			renewedSince(t, g, moment)
			took := time.Since(moment)
			t.Logf("renewed %v after the leader was %s", took, o.name)
			if took > slowdown*5*time.Second {
				t.Errorf("renewed after %v; want at most 5 s", took)
			}
			// Newcomers are served by the other two.
			other := newCoordinator(t, cluster.Client(t), ns, nil)
			if h := worker(t, generate(t, other, core.Config{Lease: lease()})); h.WorkerID == before.WorkerID {
				t.Errorf("worker ID %d is held twice", h.WorkerID)
			}
			o.over(t, leader)
			renewedSince(t, g, time.Now())
			ids.stop(t, 100)
			if after := worker(t, g); after.WorkerID != before.WorkerID || after.Generation != before.Generation {
				t.Errorf("worker ID %d, generation %d became worker ID %d, generation %d", before.WorkerID, before.Generation, after.WorkerID, after.Generation)
			}
		})
	}
}
