package zk_test

import (
	"crypto/rand"
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// TestKill: in a namespace with one worker ID, kill -9 of the holder and start of
// another process; every ID lies above all IDs before, four times.
func TestKill(t *testing.T) {
	t.Parallel()
	url := "zk://" + zktest.Start(t, zktest.Options{}).Addr + "/?namespace=" + rand.Text() + "&ttl=1s&horizon=2s&renew=300ms"
	drivertest.Kill(t, 4, func() *drivertest.Child { return drivertest.StartHolder(t, url) })
}
