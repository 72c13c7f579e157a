package kubernetes_test

import (
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
)

// TestKill: in a namespace with one worker ID, kill -9 of the holder and start of another
// process; every ID lies above all IDs before, four times. The processes use a URL.
func TestKill(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	url := "kubernetes+http://" + c.Proxy(t) + "?namespace=orders&in=" + c.in + "&ttl=2s&horizon=2s&renew=300ms"
	drivertest.Kill(t, 4, func() *drivertest.Child { return drivertest.StartHolder(t, url) })
}
