package postgres_test

import (
	"crypto/rand"
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// TestSlow: no Next fails while answers are late, always and once by three times as much.
func TestSlow(t *testing.T) {
	fulltest.Long(t, "answers that take seconds")
	t.Parallel()
	proxy := proxytest.Start(t, "127.0.0.1:"+pgtest.Start(t).Port)
	c, err := drivertest.Open(t, "postgres://postgres@"+proxy.Addr+"/postgres?accept=fsync&namespace="+rand.Text())
	if err != nil {
		t.Fatal(err)
	}
	streamtest.Slow(t, c, proxy.Delay)
}
