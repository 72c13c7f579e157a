//go:build unix

package zk_test

import (
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord/zk"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// outage is a way to take a server away and to bring it back.
type outage struct {
	name        string
	begin, over func(t *testing.T, s *zktest.Server)
}

func outages() []outage {
	return []outage{
		{"frozen", func(t *testing.T, s *zktest.Server) { t.Helper(); s.Freeze(t) }, func(t *testing.T, s *zktest.Server) { t.Helper(); s.Thaw(t) }},
		{"killed", func(t *testing.T, s *zktest.Server) { t.Helper(); s.Kill() }, func(t *testing.T, s *zktest.Server) { t.Helper(); s.Restart(t) }},
	}
}

// An outage that is shorter than the horizon less the renewal interval is not
// noticed by those who want IDs, although the session ends meanwhile.
func TestShortOutage(t *testing.T) {
	t.Parallel()
	for _, o := range outages() {
		t.Run(o.name, func(t *testing.T) {
			server := zktest.Start(t, zktest.Options{})
			l := lease()
			l.Horizon = 30 * time.Second // far more than a slow machine needs to start a server
			g := streamtest.Generate(t, newCoordinator(t, []string{server.Addr}, rand.Text(), nil), core.Config{Lease: l})
			before := streamtest.Worker(t, g)
			ids := streamtest.Run(g)
			for range 2 {
				streamtest.RenewedSince(t, g, time.Now())
				began := time.Now()
				o.begin(t, server)
				streamtest.Eventually(t, "the session has ended", func() bool { return streamtest.Worker(t, g).WindowLeft < l.Horizon-6*time.Second })
				o.over(t, server)
				lasted, moment := time.Since(began), time.Now()
				streamtest.RenewedSince(t, g, moment)
				t.Logf("an outage of %v; renewed %v after it", lasted, time.Since(moment))
			}
			ids.Stop(t, 1000)
			streamtest.SameTerm(t, g, before)
		})
	}
}

// A longer outage gives an error that says what to do, and ends by itself.
func TestLongOutage(t *testing.T) {
	t.Parallel()
	for _, o := range outages() {
		t.Run(o.name, func(t *testing.T) {
			server := zktest.Start(t, zktest.Options{})
			g, ids := interrupted(t, newCoordinator(t, []string{server.Addr}, rand.Text(), nil), func() { o.begin(t, server) })
			o.over(t, server)
			resumed(t, g, ids)
		})
	}
}

// The same for an ensemble that has lost its leader and its majority.
func TestLongOutageOfEnsemble(t *testing.T) {
	t.Parallel()
	for _, o := range outages() {
		t.Run(o.name, func(t *testing.T) {
			e := zktest.StartEnsemble(t, 3, zktest.Options{})
			leader := e.Leader(t)
			lost := []*zktest.Server{leader}
			for _, s := range e.Servers {
				if s != leader && len(lost) < 2 {
					lost = append(lost, s)
				}
			}
			g, ids := interrupted(t, newCoordinator(t, e.Addrs(), rand.Text(), nil), func() {
				for _, s := range lost {
					o.begin(t, s)
				}
			})
			for _, s := range lost {
				o.over(t, s)
			}
			e.Leader(t)
			resumed(t, g, ids)
		})
	}
}

// interrupted runs a generator until its window ends in an outage, which it makes a
// long one.
func interrupted(t *testing.T, c *zk.Coordinator, begin func()) (*core.Generator, *streamtest.Stream) {
	t.Helper()
	l := lease()
	l.Horizon = 2 * time.Second
	g := streamtest.Generate(t, c, core.Config{Lease: l})
	ids := streamtest.Run(g)
	streamtest.RenewedSince(t, g, time.Now())
	begin()
	streamtest.Eventually(t, "the window ends", ids.Failed)
	if !errors.Is(ids.Err, core.ErrWindowEnded) {
		t.Fatalf("error in the outage: %v; want %v", ids.Err, core.ErrWindowEnded)
	}
	t.Logf("error in the outage: %v", ids.Err)
	// On a slow machine the window may end before a renewal has failed.
	parts := []string{"renewal failed", "127.0.0.1:", "last renewed", "service resumes by itself"}
	streamtest.Eventually(t, "the error says "+strings.Join(parts, ", "), func() bool {
		_, err := g.Next()
		return err != nil && !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(err.Error(), p) })
	})
	// Long enough for every pause between tries to have grown to its longest.
	long := time.Now().Add(3 * time.Second)
	streamtest.Eventually(t, "the outage is long", func() bool { return time.Now().After(long) })
	return g, ids
}

// resumed waits until a generator issues IDs again, and logs how long that took.
func resumed(t *testing.T, g *core.Generator, before *streamtest.Stream) {
	t.Helper()
	moment := time.Now()
	streamtest.Eventually(t, "IDs are issued again", func() bool {
		id, err := g.Next()
		if err == nil && id <= before.Last {
			t.Fatalf("ID %d is not above %d, the last before the outage", id, before.Last)
		}
		return err == nil
	})
	t.Logf("IDs again after %v", time.Since(moment))
}

// The leader of three servers goes away: nobody who wants IDs notices, and the window
// is extended again soon. All worker IDs that are held through it are different.
func TestLeaderGone(t *testing.T) {
	t.Parallel()
	for _, o := range outages() {
		t.Run(o.name, func(t *testing.T) {
			e := zktest.StartEnsemble(t, 3, zktest.Options{})
			ns := rand.Text()
			const holders = 6
			var gs []*core.Generator
			var before []core.WorkerHealth
			var ids []*streamtest.Stream
			l := lease()
			l.Horizon = 30 * time.Second
			for range holders {
				g := streamtest.Generate(t, newCoordinator(t, e.Addrs(), ns, nil), core.Config{Lease: l})
				gs, before, ids = append(gs, g), append(before, streamtest.Worker(t, g)), append(ids, streamtest.Run(g))
			}
			leader := e.Leader(t)
			moment := time.Now()
			o.begin(t, leader)
			for _, g := range gs {
				streamtest.RenewedSince(t, g, moment)
			}
			// The others notice a frozen leader after syncLimit ticks, which are 4 s here.
			t.Logf("all renewed %v after the leader was %s", time.Since(moment), o.name)
			// Newcomers are served by the other two.
			other := streamtest.Generate(t, newCoordinator(t, e.Addrs(), ns, nil), core.Config{Lease: lease()})
			seen := map[int]bool{streamtest.Worker(t, other).WorkerID: true}
			o.over(t, leader)
			for i, g := range gs {
				streamtest.RenewedSince(t, g, time.Now())
				ids[i].Stop(t, 100)
				streamtest.SameTerm(t, g, before[i])
				if id := before[i].WorkerID; seen[id] {
					t.Errorf("worker ID %d is held twice", id)
				} else {
					seen[id] = true
				}
			}
		})
	}
}
