//go:build unix

package etcd_test

import (
	"path/filepath"
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/drivertest/localtest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// TestOutlives: with a state file, a process that is started again goes on in an outage.
func TestOutlives(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.StartCluster(t, 1)
	s := cluster.Members[0]
	localtest.Outlives(t, "etcd://"+s.Endpoint+"/orders", func() { s.Freeze(t) }, func() { s.Thaw(t) })
}

// TestKillWithState: the same as TestKill with a state file, and the server is away for some
// of the rounds.
func TestKillWithState(t *testing.T) {
	fulltest.Long(t, "kills again, with state files")
	t.Parallel()
	cluster, round := etcdtest.StartCluster(t, 1), 0
	s := cluster.Members[0]
	url := "etcd://" + s.Endpoint + "/orders?horizon=2m&state=" + filepath.Join(t.TempDir(), "state")
	drivertest.Kill(t, 10, func() *drivertest.Child {
		switch round++; round {
		case 3, 8:
			s.Freeze(t)
		case 6, 10:
			s.Thaw(t)
		}
		return drivertest.StartHolder(t, url)
	})
}

// TestPlace: what leads to another namespace is another place.
func TestPlace(t *testing.T) {
	localtest.Place(t, "etcd://ann:secret@h,i/orders", "etcd://h/orders", "etcd://h,i/payments", "etcd://h,i:2380/orders")
}
