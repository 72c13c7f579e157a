//go:build unix

package redis_test

import (
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest/localtest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// TestOutlives: with a state file, a process that is started again goes on in an outage.
func TestOutlives(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Options{})
	ns := newNamespace(t, s.Client(t), layout)
	localtest.Outlives(t, "redis://"+s.Addr+"/0?namespace="+ns, func() { s.Freeze(t) }, func() { s.Thaw(t) })
}

// TestPlace: what leads to another namespace is another place.
func TestPlace(t *testing.T) {
	localtest.Place(t, "redis://ann:secret@h/1?namespace=orders", "redis://h?namespace=orders", "redis://h/1?namespace=payments", "redis://i/1?namespace=orders")
	localtest.Place(t, "redis-sentinel://h,i/main/0?namespace=orders", "redis-sentinel://h,i/other/0?namespace=orders", "redis-sentinel://h/main/0?namespace=orders")
	localtest.Place(t, "redis-cluster://h,i?namespace=orders", "redis-cluster://h?namespace=orders")
}
