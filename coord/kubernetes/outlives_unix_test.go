//go:build unix

package kubernetes_test

import (
	"crypto/rand"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/kubernetes"
	"github.com/unalike-id/unalike/coord/local"
	"github.com/unalike-id/unalike/internal/drivertest/localtest"
)

// TestOutlives: with a state file, a process that is started again goes on in an outage.
func TestOutlives(t *testing.T) {
	t.Parallel()
	c, ns := ownCluster(t), rand.Text()
	localtest.OutlivesWith(t, func(file string) (coord.Coordinator, error) {
		return local.New(c.new(t, ns, kubernetes.Options{}), file, local.Options{})
	}, func() { c.Freeze(t) }, func() { c.Thaw(t) })
}

// TestPlace: what leads to another namespace is another place.
func TestPlace(t *testing.T) {
	localtest.Place(t, "kubernetes+http://h:8001?namespace=orders&in=a", "kubernetes+http://h:8001?namespace=orders&in=b", "kubernetes+http://h:8001?namespace=payments&in=a", "kubernetes+http://i:8001?namespace=orders&in=a")
}
