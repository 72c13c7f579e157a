//go:build unix

package drivertest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// Server is a server that can go away and come back.
type Server interface {
	Freeze(tb testing.TB)
	Thaw(tb testing.TB)
	Kill()
	Restart(tb testing.TB)
}

// Outage is a way to take a server away and to bring it back.
type Outage struct {
	Name        string
	Begin, Over func(tb testing.TB, s Server)
}

// Frozen is an outage of a server that forgets nothing.
func Frozen() Outage {
	return Outage{
		Name:  "frozen",
		Begin: func(tb testing.TB, s Server) { tb.Helper(); s.Freeze(tb) },
		Over:  func(tb testing.TB, s Server) { tb.Helper(); s.Thaw(tb) },
	}
}

// Outages returns the ways: a server is frozen, or killed and started again.
func Outages() []Outage {
	return []Outage{Frozen(), {
		Name:  "killed",
		Begin: func(tb testing.TB, s Server) { tb.Helper(); s.Kill() },
		Over:  func(tb testing.TB, s Server) { tb.Helper(); s.Restart(tb) },
	}}
}

// ShortOutage takes a server away twice, until the lease has ended, which takes less than
// the horizon less the renewal interval: nobody who wants IDs notices.
func ShortOutage(t *testing.T, c coord.Coordinator, lease coord.LeaseConfig, o Outage, s Server) {
	t.Helper()
	lease.Horizon = 30 * time.Second // far more than a slow machine needs to start a server
	g := streamtest.Generate(t, c, core.Config{Lease: lease})
	before := streamtest.Worker(t, g)
	ids := streamtest.Run(g)
	for range 2 {
		streamtest.RenewedSince(t, g, time.Now())
		began := time.Now()
		o.Begin(t, s)
		streamtest.Eventually(t, "the lease has ended", func() bool { return streamtest.Worker(t, g).WindowLeft < lease.Horizon-6*time.Second })
		o.Over(t, s)
		lasted, moment := time.Since(began), time.Now()
		streamtest.RenewedSince(t, g, moment)
		t.Logf("an outage of %v; renewed %v after it", lasted, time.Since(moment))
	}
	ids.Stop(t, 100)
	streamtest.SameTerm(t, g, before)
}

// LongOutage begins an outage that lasts for longer than the horizon: the error says what
// is wrong, and names the server. When over has ended the outage, there are IDs again, by
// themselves.
func LongOutage(t *testing.T, c coord.Coordinator, lease coord.LeaseConfig, server string, begin, over func()) {
	t.Helper()
	g := streamtest.Generate(t, c, core.Config{Lease: lease})
	ids := streamtest.Run(g)
	streamtest.RenewedSince(t, g, time.Now())
	begin()
	streamtest.Eventually(t, "the window ends", ids.Failed)
	if _, ok := errors.AsType[*core.WindowEndedError](ids.Err); !ok || !errors.Is(ids.Err, core.ErrWindowEnded) {
		t.Fatalf("error in the outage: %v; want %v", ids.Err, core.ErrWindowEnded)
	}
	t.Logf("error in the outage: %v", ids.Err)
	// On a slow machine the window may end before a renewal has failed.
	parts := []string{"renewal failed", server, "last renewed", "service resumes by itself"}
	streamtest.Eventually(t, "the error says "+strings.Join(parts, ", "), func() bool {
		_, err := g.Next()
		return err != nil && !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(err.Error(), p) })
	})
	// Long enough for every pause between tries to have grown to its longest.
	long := time.Now().Add(lease.Horizon + time.Second)
	streamtest.Eventually(t, "the outage is long", func() bool { return time.Now().After(long) })
	over()
	moment := time.Now()
	streamtest.Eventually(t, "IDs are issued again", func() bool {
		id, err := g.Next()
		if err == nil && id <= ids.Last {
			t.Fatalf("ID %d is not above %d, the last before the outage", id, ids.Last)
		}
		return err == nil
	})
	t.Logf("IDs again after %v", time.Since(moment))
}

// LeaderGone takes the leader of three servers away: nobody who wants IDs notices, the
// windows are extended again soon, and newcomers are served by the other two. All worker
// IDs that are held through it are different.
func LeaderGone(t *testing.T, connect func() coord.Coordinator, lease coord.LeaseConfig, o Outage, leader Server) {
	t.Helper()
	long := lease
	long.Horizon = 30 * time.Second // far more than a slow machine needs for an election
	var gs []*core.Generator
	var before []core.WorkerHealth
	var ids []*streamtest.Stream
	for range 6 {
		g := streamtest.Generate(t, connect(), core.Config{Lease: long})
		gs, before, ids = append(gs, g), append(before, streamtest.Worker(t, g)), append(ids, streamtest.Run(g))
	}
	moment := time.Now()
	o.Begin(t, leader)
	for _, g := range gs {
		streamtest.RenewedSince(t, g, moment)
	}
	t.Logf("all renewed %v after the leader was %s", time.Since(moment), o.Name)
	other := streamtest.Generate(t, connect(), core.Config{Lease: lease})
	seen := map[int]bool{streamtest.Worker(t, other).WorkerID: true}
	o.Over(t, leader)
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
}
