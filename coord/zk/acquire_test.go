package zk_test

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/zk"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// TestRoundTrips counts the round trips of an acquisition, with nothing held and with
// many worker IDs held. The handshake is one of them.
func TestRoundTrips(t *testing.T) {
	server := zktest.Start(t, zktest.Options{})
	proxy := proxytest.Start(t, server.Addr)
	const trips = 5 // one of them asks holders for a sign of life
	for _, held := range []int{0, 200} {
		ns := rand.Text()
		opts := zk.Options{User: "ann", Password: "secret"}
		crowd := drivertest.Crowd[protocol.Full]{Members: []protocol.Full{newCoordinator(t,
			[]string{server.Addr}, ns, &opts)}, Again: again}
		crowd.Acquire(t, max(held, 1), 32)
		c := newCoordinator(t, []string{proxy.Addr}, ns, &opts)
		// A busy machine can only make it more, so the least counts.
		least := 100
		for n := 0; n < 8 && least > trips; n++ {
			req := request(capacity)
			req.Identity = "pod-a"
			proxy.Delay(50 * time.Millisecond)
			proxy.Trips()
			g := mustAcquire(t, c, req)
			least = min(least, proxy.Trips())
			proxy.Delay(0)
			if err := c.Release(within(t), g, g.NotBefore); err != nil {
				t.Fatal(err)
			}
		}
		if least > trips {
			t.Errorf("%d held: %d round trips; at most %d are allowed", held, least, trips)
		}
	}
}

// again reports whether a starter tries again. Where a thousand start at once on a slow
// machine, a request can be so old when it arrives that it looks like that of a clock
// which is behind.
func again(err error) bool { return !coord.Permanent(err) || errors.Is(err, coord.ErrClockSkew) }

// TestCloseReleasesNothing: a coordinator that is closed leaves its sessions to their TTL,
// and with them what they hold.
func TestCloseReleasesNothing(t *testing.T) {
	server := zktest.Start(t, zktest.Options{})
	ns, o := rand.Text(), newOperator(t, []string{server.Addr})
	c := newCoordinator(t, []string{server.Addr}, ns, nil)
	req := request(1)
	req.TTL = time.Minute
	g := mustAcquire(t, c, req)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if o.owner(t, ns, g.WorkerID) == 0 {
		t.Errorf("%v is not held any more", g)
	}
}
