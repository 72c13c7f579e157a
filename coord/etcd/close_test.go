package etcd_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
)

// TestWatchGoesOn: a watch whose connection breaks is taken up again, and what was
// missed meanwhile is noticed.
func TestWatchGoesOn(t *testing.T) {
	server := etcdtest.Start(t)
	operator, ns := server.Client(t), rand.Text()
	proxy := proxytest.Start(t, server.Endpoint)
	c := newCoordinator(t, etcdtest.Connect(t, []string{proxy.Addr}), ns)
	g := mustAcquire(t, c, request(1))
	notice := c.Lost(g)
	proxy.Refuse()
	endLease(t, operator, ns, g.WorkerID)
	proxy.Restore()
	select {
	case <-notice:
	case <-time.After(callTime):
		t.Fatal("no hint after the connection was broken")
	}
}
