//go:build unix

package redis_test

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// TestShortOutage: an outage that is shorter than the horizon less the renewal
// interval is not noticed by those who want IDs, although the lease ends meanwhile.
func TestShortOutage(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	ns := newNamespace(t, server.Client(t), layout)
	l := lease()
	l.TTL, l.Horizon = time.Second, 2*shortHorizon
	g := generate(t, newCoordinator(t, server.Client(t), ns, nil), l)
	before := worker(t, g)
	ids := run(g)
	renewedSince(t, g, time.Now())
	began := time.Now()
	server.Freeze(t)
	eventually(t, "half of the window is used up", func() bool { return worker(t, g).WindowLeft < l.Horizon/2 })
	server.Thaw(t)
	lasted, moment := time.Since(began), time.Now()
	renewedSince(t, g, moment)
	t.Logf("an outage of %v; renewed %v after it", lasted, time.Since(moment))
	ids.stop(t, 500)
	ids.wantNoError(t)
	if after := worker(t, g); after.WorkerID != before.WorkerID || after.Generation != before.Generation {
		t.Errorf("worker ID %d, generation %d became worker ID %d, generation %d", before.WorkerID, before.Generation, after.WorkerID, after.Generation)
	}
}

// TestLongOutage: a longer outage gives an error that says what is wrong, and ends by
// itself.
func TestLongOutage(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	ns := newNamespace(t, server.Client(t), layout)
	ids := run(generate(t, shortCoordinator(t, server.Client(t), ns), lease()))
	ids.more(t, 10)
	server.Freeze(t)
	eventually(t, "the window ends", ids.failed)
	server.Thaw(t)
	moment := time.Now()
	ids.more(t, 100)
	took := time.Since(moment)
	ids.stop(t, 100)
	t.Logf("IDs again after %v; error in the outage: %v", took, ids.err)
	if !errors.Is(ids.err, core.ErrWindowEnded) {
		t.Fatalf("error in the outage: %v; want %v", ids.err, core.ErrWindowEnded)
	}
	for _, part := range []string{"renewal failed", server.Addr, "last renewed", "service resumes by itself"} {
		if !strings.Contains(ids.err.Error(), part) {
			t.Errorf("the error does not say %q", part)
		}
	}
	if took > slowdown*2*time.Second {
		t.Errorf("IDs again %v after the outage; want at most 2 s", took)
	}
}

// TestRestart: Redis is killed and started again with all that it had confirmed. It
// cannot know that that is all, so a quarantine follows; what remains of a window with
// the longest horizon covers most of it.
func TestRestart(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{AppendOnly: true})
	ns := newNamespace(t, server.Client(t), layout)
	g := generate(t, shortCoordinator(t, server.Client(t), ns), lease())
	before := worker(t, g)
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
	if limit := slowdown * (outage + lease().RenewEvery + time.Second + time.Second); ids.pause > limit {
		t.Errorf("without an ID for %v; want at most %v", ids.pause, limit)
	}
	if after := worker(t, g); after.WorkerID != before.WorkerID || after.Generation != before.Generation {
		t.Errorf("worker ID %d, generation %d became worker ID %d, generation %d", before.WorkerID, before.Generation, after.WorkerID, after.Generation)
	}
	wantUnique(t, ids)
}

// TestClusterNodeLoss: in a Cluster, first another node is away, with which the whole
// Cluster stops, then the one that has the namespace is killed and comes back.
func TestClusterNodeLoss(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, redistest.Options{AppendOnly: true}, 3)
	ns := rand.Text()
	owner := cluster.Of(t, "{"+ns+"}:slots")
	if err := newCoordinator(t, cluster.Client(t), ns, nil).Init(within(t), space()); err != nil {
		t.Fatal(err)
	}
	l := lease()
	l.Horizon = 2 * shortHorizon // the Cluster stops for more than a second
	coordinator := func() *redis.Coordinator {
		c := newCoordinator(t, cluster.Client(t), ns, nil)
		c.SetMaxHorizon(l.Horizon)
		return c
	}
	ids := run(generate(t, coordinator(), l))
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
	ids.mu.Lock()
	if ids.err != nil {
		t.Errorf("with another node away for a second: %v", ids.err)
	}
	ids.mu.Unlock()
	owner.Kill()
	owner.Restart(t)
	cluster.Await(t)
	eventually(t, "the floor takes effect", func() bool { return ids.failed() })
	other := run(generate(t, coordinator(), l))
	other.more(t, 100)
	ids.more(t, 100)
	for _, s := range []*stream{ids, other} {
		s.stop(t, 100)
		t.Logf("without an ID for %v; first error: %v", s.pause, s.err)
	}
	wantUnique(t, ids, other)
}
