package etcd_test

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/etcd"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// slowly returns a coordinator whose cluster answers so late, and what makes it late.
func slowly(t *testing.T, late time.Duration) (*etcd.Coordinator, *proxytest.Proxy) {
	t.Helper()
	proxy := proxytest.Start(t, etcdtest.Start(t).Endpoint)
	c := newCoordinator(t, etcdtest.Connect(t, []string{proxy.Addr}), rand.Text(), nil)
	if _, err := c.Inspect(within(t)); err != nil { // there is a connection
		t.Fatal(err)
	}
	proxy.Delay(late)
	return c, proxy
}

// A call may take as long as its context allows: a cluster that answers late is no broken
// one. An acquisition has three answers to wait for, one after another, and a renewal one.
func TestSlowCluster(t *testing.T) {
	t.Parallel()
	delays := []time.Duration{1500 * time.Millisecond, 550 * time.Millisecond, time.Second, 3 * time.Second}
	for _, late := range delays[:fulltest.Rounds(1, len(delays))] {
		t.Run(late.String(), func(t *testing.T) {
			t.Parallel()
			c, _ := slowly(t, late)
			timely := func(answers time.Duration) context.Context {
				ctx, cancel := context.WithTimeout(t.Context(), answers*late+max(late, 1500*time.Millisecond))
				t.Cleanup(cancel)
				return ctx
			}
			g, err := c.Acquire(timely(3), request(capacity))
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if g, err = c.Renew(timely(1), g, g.NotAfter+10); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// A generator whose cluster has become slow, and then slower, goes on renewing.
func TestClusterBecomesSlow(t *testing.T) {
	t.Parallel()
	c, proxy := slowly(t, 0)
	g := streamtest.Generate(t, c, core.Config{Lease: coord.LeaseConfig{TTL: 4 * time.Second, Horizon: 8 * time.Second, RenewEvery: time.Second}})
	streamtest.RenewedSince(t, g, time.Now())
	for _, late := range []time.Duration{550, 3000, 1000, 550}[:fulltest.Rounds(2, 4)] {
		proxy.Delay(late * time.Millisecond)
		for range 2 {
			streamtest.RenewedSince(t, g, time.Now())
		}
	}
}

// TestGeneratorOfASlowCluster: no Next fails while answers are late, always and once by
// three times as much.
func TestGeneratorOfASlowCluster(t *testing.T) {
	fulltest.Long(t, "answers that take seconds")
	t.Parallel()
	c, proxy := slowly(t, 0)
	streamtest.Slow(t, c, proxy.Delay)
}
