//go:build unix

package redis_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// TestShortOutage: an outage that is shorter than the horizon less the renewal
// interval is not noticed by those who want IDs, although the lease ends meanwhile. A
// fifth of the window is used up by it: what remains is for a machine that is slow.
func TestShortOutage(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	c := newCoordinator(t, server.Client(t), newNamespace(t, server.Client(t), layout), nil)
	l := lease()
	l.TTL = time.Second
	drivertest.ShortOutage(t, c, l, drivertest.Frozen(), server)
}

// TestLongOutage: a longer outage gives an error that says what is wrong, and ends by
// itself.
func TestLongOutage(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	c := newCoordinator(t, server.Client(t), newNamespace(t, server.Client(t), layout), nil)
	c.SetMaxHorizon(shortHorizon)
	drivertest.LongOutage(t, c, lease(), server.Addr, func() { server.Freeze(t) }, func() { server.Thaw(t) })
}

// TestRestart: Redis is killed and started again with all that it had confirmed. It
// cannot know that that is all, so a quarantine follows; what remains of a window with
// the longest horizon covers most of it.
func TestRestart(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{AppendOnly: true})
	ns := newNamespace(t, server.Client(t), layout)
	g := generate(t, shortCoordinator(t, server.Client(t), ns), lease())
	before := streamtest.Worker(t, g)
	ids := run(g)
	ids.more(t, 100)
	began := time.Now()
	server.Kill()
	server.Restart(t)
	outage := time.Since(began)
	eventually(t, "the floor takes effect", func() bool { return ids.failed() || time.Since(began) > 2*shortHorizon })
	ids.more(t, 100)
	ids.stop(t, 200)
	t.Logf("an outage of %v; without an ID for %v; first error: %v", outage, ids.pause, ids.err)
	streamtest.SameTerm(t, g, before)
	wantUnique(t, ids)
}

// TestClusterOtherNodeAway: in a Cluster, a node that does not have the namespace is
// away, with which the whole Cluster stops. What is left of the window covers that.
func TestClusterOtherNodeAway(t *testing.T) {
	t.Parallel()
	cluster, ns, owner := clusterWithNamespace(t)
	l := lease()
	l.Horizon = redis.MaxHorizon
	ids := run(generate(t, newCoordinator(t, cluster.Client(t), ns, nil), l))
	ids.more(t, 100)
	for _, s := range cluster.Nodes {
		if s == owner {
			continue
		}
		s.Freeze(t)
		held := time.Now()
		eventually(t, "a second passes", func() bool { return time.Since(held) > time.Second })
		s.Thaw(t)
		break
	}
	cluster.Await(t)
	ids.more(t, 100)
	ids.stop(t, 200)
	ids.wantNoError(t)
}

// TestClusterNodeLoss: in a Cluster, the node that has the namespace is killed and
// comes back.
func TestClusterNodeLoss(t *testing.T) {
	t.Parallel()
	cluster, ns, owner := clusterWithNamespace(t)
	ids := run(generate(t, shortCoordinator(t, cluster.Client(t), ns), lease()))
	ids.more(t, 100)
	owner.Kill()
	owner.Restart(t)
	cluster.Await(t)
	eventually(t, "the floor takes effect", ids.failed)
	other := run(generate(t, shortCoordinator(t, cluster.Client(t), ns), lease()))
	other.more(t, 100)
	ids.more(t, 100)
	for _, s := range []*stream{ids, other} {
		s.stop(t, 100)
		t.Logf("without an ID for %v; first error: %v", s.pause, s.err)
	}
	wantUnique(t, ids, other)
}

// clusterWithNamespace starts a Cluster and declares a namespace new in it, which the
// node has that is returned.
func clusterWithNamespace(t *testing.T) (*redistest.Cluster, string, *redistest.Server) {
	t.Helper()
	cluster := redistest.StartCluster(t, redistest.Options{AppendOnly: true, Silence: time.Second}, 3)
	ns := rand.Text()
	if err := newCoordinator(t, cluster.Client(t), ns, nil).Init(within(t), space()); err != nil {
		t.Fatal(err)
	}
	return cluster, ns, cluster.Of(t, "{"+ns+"}:slots")
}
