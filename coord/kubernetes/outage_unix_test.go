//go:build unix

package kubernetes_test

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/kubernetes"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// brief are lease times with which tests do not wait long.
func brief() coord.LeaseConfig {
	return coord.LeaseConfig{TTL: 2 * time.Second, Horizon: 4 * time.Second, RenewEvery: 500 * time.Millisecond}
}

// outages are all, or one of them in make test: each has an API server of its own.
func outages(one int) []drivertest.Outage {
	all := drivertest.Outages()
	return all[fulltest.Rounds(one, 0):fulltest.Rounds(one+1, len(all))]
}

// TestShortOutage: nobody who wants IDs notices an outage that is shorter than the horizon less the
// renewal interval.
func TestShortOutage(t *testing.T) {
	t.Parallel()
	for _, o := range outages(1) {
		t.Run(o.Name, func(t *testing.T) {
			t.Parallel()
			c := ownCluster(t)
			drivertest.ShortOutage(t, c.new(t, rand.Text(), kubernetes.Options{}), brief(), o, c.Server)
		})
	}
}

// TestLongOutage: a longer one gives an error that says what to do, and ends by itself.
func TestLongOutage(t *testing.T) {
	t.Parallel()
	for _, o := range outages(0) {
		t.Run(o.Name, func(t *testing.T) {
			t.Parallel()
			c := ownCluster(t)
			drivertest.LongOutage(t, c.new(t, rand.Text(), kubernetes.Options{}), brief(), strings.TrimPrefix(c.URL, "https://"),
				func() { o.Begin(t, c.Server) }, func() { o.Over(t, c.Server) })
		})
	}
}
