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
