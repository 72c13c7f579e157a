package mysql_test

import (
	"crypto/rand"
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// TestKill: in a namespace with one worker ID, kill -9 of the holder and start of
// another process; every ID lies above all IDs before, again and again.
func TestKill(t *testing.T) {
	t.Parallel()
	url := "mysql://unalike:pw@" + mysqltest.Start(t).Addr() + "/unalike?namespace=" + rand.Text() + "&ttl=2s&horizon=2s&renew=500ms"
	drivertest.Kill(t, fulltest.Rounds(3, 10), func() *drivertest.Child { return drivertest.StartHolder(t, url) })
}

// TestSlow: no Next fails while answers are late, always and once by three times as much.
func TestSlow(t *testing.T) {
	fulltest.Long(t, "answers that take seconds")
	t.Parallel()
	proxy := proxytest.Start(t, mysqltest.Start(t).Addr())
	c, err := drivertest.Open(t, "mysql://unalike:pw@"+proxy.Addr+"/unalike?namespace="+rand.Text())
	if err != nil {
		t.Fatal(err)
	}
	streamtest.Slow(t, c, proxy.Delay)
}
