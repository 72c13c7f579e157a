package etcd_test

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/etcd"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// TestDeadHoldersAreNoClocks: a clock that disagrees with holders of whom none was seen to renew is
// not refused for good, since they may be dead, as after an outage of etcd, for which leases stand
// still. It is granted when their leases have ended, of which the error says when that is. Holders
// that have renewed since are alive: they refuse it for good.
func TestDeadHoldersAreNoClocks(t *testing.T) {
	t.Parallel()
	const ttl = time.Minute
	server, ns := etcdtest.Start(t), rand.Text()
	early, err := etcd.New(server.Client(t), ns,
		etcd.Options{Clock: clocktest.NewShifted(time.Now().Add(-time.Hour))})
	early = drivertest.Closing(t, early, err)
	var grants [2]coord.Grant
	for i := range grants {
		req := at(-time.Hour)
		req.TTL = ttl
		grants[i] = mustAcquire(t, early, req)
	}
	c := newCoordinator(t, server.Client(t), ns)
	for _, alive := range []bool{false, true} {
		asked := time.Now()
		_, err := c.Acquire(within(t), request(capacity))
		skew, ok := errors.AsType[*coord.ClockSkewError](err)
		if !ok || skew.Source == "" || coord.Permanent(err) != alive {
			t.Fatalf("holders are an hour behind, alive %t: %v", alive, err)
		}
		if end := time.Now().Add(ttl + 5*time.Second); !alive &&
			(skew.Until.Before(asked) || skew.Until.After(end)) {
			t.Errorf("the leases of the holders last %v at the most, the error says %#v", ttl, skew)
		}
		for _, g := range grants {
			if _, err := early.Renew(within(t), g, g.NotAfter+1); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, g := range grants {
		endLease(t, server.Client(t), ns, g.WorkerID)
	}
	mustAcquire(t, c, request(capacity))
}
