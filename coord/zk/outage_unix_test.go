//go:build unix

package zk_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// An outage that is shorter than the horizon less the renewal interval is not
// noticed by those who want IDs, although the session ends meanwhile.
func TestShortOutage(t *testing.T) {
	fulltest.Long(t, "a minute of real time; TestLongOutage runs")
	t.Parallel()
	for _, o := range drivertest.Outages() {
		t.Run(o.Name, func(t *testing.T) {
			server := zktest.Start(t, zktest.Options{})
			drivertest.ShortOutage(t, newCoordinator(t, []string{server.Addr}, rand.Text(), nil), lease(), o, server)
		})
	}
}

// A longer outage gives an error that says what to do, and ends by itself.
func TestLongOutage(t *testing.T) {
	t.Parallel()
	for _, o := range drivertest.Outages() {
		t.Run(o.Name, func(t *testing.T) {
			server := zktest.Start(t, zktest.Options{})
			c := newCoordinator(t, []string{server.Addr}, rand.Text(), nil)
			drivertest.LongOutage(t, c, brief(), server.Addr, func() { o.Begin(t, server) }, func() { o.Over(t, server) })
		})
	}
}

// brief are the times of a generator whose window ends soon.
func brief() coord.LeaseConfig {
	l := lease()
	l.Horizon = 2 * time.Second
	return l
}

// The same for an ensemble that has lost its leader and its majority.
func TestLongOutageOfEnsemble(t *testing.T) {
	fulltest.Long(t, "a minute of real time on three servers")
	t.Parallel()
	for _, o := range drivertest.Outages() {
		t.Run(o.Name, func(t *testing.T) {
			e := zktest.StartEnsemble(t, 3, zktest.Options{})
			leader := e.Leader(t)
			lost := []*zktest.Server{leader}
			for _, s := range e.Servers {
				if s != leader && len(lost) < 2 {
					lost = append(lost, s)
				}
			}
			each := func(do func(testing.TB, drivertest.Server)) {
				for _, s := range lost {
					do(t, s)
				}
			}
			c := newCoordinator(t, e.Addrs(), rand.Text(), nil)
			drivertest.LongOutage(t, c, brief(), "127.0.0.1:", func() { each(o.Begin) }, func() { each(o.Over); e.Leader(t) })
		})
	}
}

// A server of three that vote and one that observes goes away, the leader or another one:
// nobody who wants IDs notices, and the window is extended again soon. All worker IDs that are
// held through it are different.
func TestMemberGone(t *testing.T) {
	fulltest.Long(t, "a minute of real time on four servers")
	t.Parallel()
	for _, o := range drivertest.Outages() {
		for _, mode := range []string{"leader", map[string]string{"killed": "observer", "frozen": "follower"}[o.Name]} {
			t.Run(mode+" "+o.Name, func(t *testing.T) {
				e, ns := zktest.StartEnsemble(t, 4, zktest.Options{Observers: 1}), rand.Text()
				connect := func() coord.Coordinator { return newCoordinator(t, e.Addrs(), ns, nil) }
				gone := e.Leader(t)
				for _, s := range e.Servers {
					if s.Mode() == mode {
						gone = s
					}
				}
				// The others notice a frozen leader after syncLimit ticks, which are 4 s here.
				drivertest.LeaderGone(t, connect, lease(), o, gone)
			})
		}
	}
}
