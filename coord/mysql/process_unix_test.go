//go:build unix

package mysql

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/sqlstore/sqltest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
)

// TestCrowd: a thousand starters.
func TestCrowd(t *testing.T) { sqltest.Crowd(t, database(t, mysqltest.Start(t), "")) }

// TestOutage: an outage that is shorter than the horizon less the renewal interval is not
// noticed, and a longer one ends by itself.
func TestOutage(t *testing.T) {
	lease := coord.LeaseConfig{TTL: 2 * time.Second, Horizon: 8 * time.Second, RenewEvery: 500 * time.Millisecond}
	for _, o := range drivertest.Outages() {
		t.Run(o.Name+" for a short time", func(t *testing.T) {
			t.Parallel()
			s := mysqltest.Start(t)
			c, _ := database(t, s, "").New(t, "ns")
			drivertest.ShortOutage(t, c, lease, o, s)
		})
		t.Run(o.Name+" for a long time", func(t *testing.T) {
			t.Parallel()
			s := mysqltest.Start(t)
			c, _ := database(t, s, "").New(t, "ns")
			drivertest.LongOutage(t, c, lease, s.Addr(), func() { o.Begin(t, s) }, func() { o.Over(t, s) })
		})
	}
}
