//go:build unix

package etcd_test

import (
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// outage is a way to take a server away and to bring it back.
type outage struct {
	name        string
	begin, over func(t *testing.T, m *etcdtest.Member)
}

func outages() []outage {
	return []outage{
		{"frozen", func(t *testing.T, m *etcdtest.Member) { t.Helper(); m.Freeze(t) }, func(t *testing.T, m *etcdtest.Member) { t.Helper(); m.Thaw(t) }},
		{"killed", func(t *testing.T, m *etcdtest.Member) { t.Helper(); m.Kill() }, func(t *testing.T, m *etcdtest.Member) { t.Helper(); m.Restart(t) }},
	}
}

// An outage that is shorter than the horizon less the renewal interval is not
// noticed by those who want IDs, although the lease ends meanwhile.
func TestShortOutage(t *testing.T) {
	t.Parallel()
	for _, o := range outages() {
		t.Run(o.name, func(t *testing.T) {
			cluster := etcdtest.StartCluster(t, 1)
			l := lease()
			l.Horizon = 30 * time.Second // far more than a slow machine needs to start a server
			g := streamtest.Generate(t, newCoordinator(t, cluster.Client(t), rand.Text(), nil), core.Config{Lease: l})
			before := streamtest.Worker(t, g)
			ids := streamtest.Run(g)
			for range 2 {
				streamtest.RenewedSince(t, g, time.Now())
				began := time.Now()
				o.begin(t, cluster.Members[0])
				streamtest.Eventually(t, "the lease has ended", func() bool { return streamtest.Worker(t, g).WindowLeft < l.Horizon-6*time.Second })
				o.over(t, cluster.Members[0])
				lasted, moment := time.Since(began), time.Now()
				streamtest.RenewedSince(t, g, moment)
				t.Logf("an outage of %v; renewed %v after it", lasted, time.Since(moment))
			}
			ids.Stop(t, 100)
			if after := streamtest.Worker(t, g); after.WorkerID != before.WorkerID || after.Generation != before.Generation {
				t.Errorf("worker ID %d, generation %d became worker ID %d, generation %d", before.WorkerID, before.Generation, after.WorkerID, after.Generation)
			}
		})
	}
}

// A longer outage gives an error that says what to do, and ends by itself.
func TestLongOutage(t *testing.T) {
	t.Parallel()
	for _, o := range outages() {
		t.Run(o.name, func(t *testing.T) {
			cluster := etcdtest.StartCluster(t, 1)
			l := lease()
			g := streamtest.Generate(t, newCoordinator(t, cluster.Client(t), rand.Text(), nil), core.Config{Lease: l})
			ids := streamtest.Run(g)
			streamtest.RenewedSince(t, g, time.Now())
			o.begin(t, cluster.Members[0])
			streamtest.Eventually(t, "the window ends", ids.Failed)
			var ended *core.WindowEndedError
			if !errors.Is(ids.Err, core.ErrWindowEnded) || !errors.As(ids.Err, &ended) {
				t.Fatalf("error in the outage: %v; want %v", ids.Err, core.ErrWindowEnded)
			}
			t.Logf("error in the outage: %v", ids.Err)
			parts := []string{"renewal failed", cluster.Members[0].Endpoint, "last renewed", "service resumes by itself"}
			streamtest.Eventually(t, "the error says "+strings.Join(parts, ", "), func() bool {
				_, err := g.Next()
				return err != nil && !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(err.Error(), p) })
			})
			// Long enough for every pause between tries to have grown to its longest.
			long := time.Now().Add(9 * time.Second)
			streamtest.Eventually(t, "the outage is long", func() bool { return time.Now().After(long) })
			o.over(t, cluster.Members[0])
			moment := time.Now()
			streamtest.Eventually(t, "IDs are issued again", func() bool {
				id, err := g.Next()
				if err == nil && id <= ids.Last {
					t.Fatalf("ID %d is not above %d, the last before the outage", id, ids.Last)
				}
				return err == nil
			})
			t.Logf("IDs again after %v", time.Since(moment))
		})
	}
}
