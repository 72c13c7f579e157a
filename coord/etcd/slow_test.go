package etcd_test

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// slowly returns a coordinator whose cluster answers so late, and what makes it late.
func slowly(t *testing.T, delay time.Duration) (coord.AdminCoordinator, *proxytest.Proxy) {
	t.Helper()
	proxy := proxytest.Start(t, etcdtest.Start(t).Endpoint)
	c := newCoordinator(t, etcdtest.Connect(t, []string{proxy.Addr}), rand.Text())
	if _, err := c.Inspect(within(t)); err != nil { // there is a connection
		t.Fatal(err)
	}
	proxy.Delay(delay)
	return c, proxy
}

// TestSlowCluster: a call may take as long as its context allows, since a cluster that answers
// late is no broken one. An acquisition has three answers to wait for, one after another, and a
// renewal one.
func TestSlowCluster(t *testing.T) {
	t.Parallel()
	const delay = 1500 * time.Millisecond
	c, _ := slowly(t, delay)
	within := func(answers time.Duration) context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), answers*delay)
		t.Cleanup(cancel)
		return ctx
	}
	g, err := c.Acquire(within(6), request(capacity))
	if err == nil {
		_, err = c.Renew(within(2), g, g.NotAfter+10)
	}
	if err != nil {
		t.Fatal(err)
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
