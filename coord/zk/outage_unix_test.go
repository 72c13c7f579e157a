//go:build unix

package zk_test

import (
	"crypto/rand"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// TestMemberGone: a server of three that vote and one that observes goes away, the leader or another
// one: nobody who wants IDs notices, and the window is extended again soon. All worker IDs that are
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
