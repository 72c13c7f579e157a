//go:build unix

package etcd_test

import (
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest/localtest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// TestOutlives: with a state file, a process that is started again goes on in an outage.
func TestOutlives(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.StartCluster(t, 1)
	s := cluster.Members[0]
	localtest.Outlives(t, "etcd://"+s.Endpoint+"/orders", func() { s.Freeze(t) }, func() { s.Thaw(t) })
}

// TestPlace: what leads to another namespace is another place.
func TestPlace(t *testing.T) {
	localtest.Place(t, "etcd://ann:secret@h,i/orders", "etcd://h/orders", "etcd://h,i/payments", "etcd://h,i:2380/orders")
}
