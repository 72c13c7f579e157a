//go:build unix

package zk_test

import (
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest/localtest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// TestOutlives: with a state file, a process that is started again goes on in an outage.
func TestOutlives(t *testing.T) {
	t.Parallel()
	s := zktest.Start(t, zktest.Options{})
	localtest.Outlives(t, "zk://"+s.Addr+"/?namespace=orders", func() { s.Freeze(t) }, func() { s.Thaw(t) })
}

// TestPlace: what leads to another namespace is another place.
func TestPlace(t *testing.T) {
	localtest.Place(t, "zk://ann:secret@h,i/apps?namespace=orders", "zk://h,i/apps?namespace=payments", "zk://h,i?namespace=orders", "zk://h/apps?namespace=orders")
}
