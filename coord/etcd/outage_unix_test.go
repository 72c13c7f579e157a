//go:build unix

package etcd_test

import (
	"crypto/rand"
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// An outage that is shorter than the horizon less the renewal interval is not
// noticed by those who want IDs, although the lease ends meanwhile.
func TestShortOutage(t *testing.T) {
	t.Parallel()
	for _, o := range drivertest.Outages() {
		t.Run(o.Name, func(t *testing.T) {
			cluster := etcdtest.StartCluster(t, 1)
			drivertest.ShortOutage(t, newCoordinator(t, cluster.Client(t), rand.Text(), nil), lease(), o, cluster.Members[0])
		})
	}
}

// A longer outage gives an error that says what to do, and ends by itself.
func TestLongOutage(t *testing.T) {
	fulltest.Long(t, "most of a minute of real time; TestShortOutage runs")
	t.Parallel()
	for _, o := range drivertest.Outages() {
		t.Run(o.Name, func(t *testing.T) {
			cluster := etcdtest.StartCluster(t, 1)
			s, c := cluster.Members[0], newCoordinator(t, cluster.Client(t), rand.Text(), nil)
			drivertest.LongOutage(t, c, lease(), s.Endpoint, func() { o.Begin(t, s) }, func() { o.Over(t, s) })
		})
	}
}
