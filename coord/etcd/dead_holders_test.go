package etcd_test

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/etcd"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// early are holders whose last renewals are an hour old, though their leases live: as
// after an outage of etcd, for which leases stand still.
type early struct {
	*etcd.Coordinator
	clock  *clocktest.Shifted
	grants []coord.Grant
}

// newEarly makes n of them; their TTL is given.
func newEarly(t *testing.T, server *etcdtest.Server, ns string, n int, ttl time.Duration) *early {
	t.Helper()
	e := &early{clock: clocktest.NewShifted(time.Now().Add(-time.Hour))}
	e.Coordinator = newCoordinator(t, server.Client(t), ns, &etcd.Options{Clock: e.clock})
	for range n {
		req := at(-time.Hour)
		req.TTL = ttl
		e.grants = append(e.grants, mustAcquire(t, e.Coordinator, req))
	}
	return e
}

// renew renews some of them.
func (e *early) renew(t *testing.T, n int) {
	t.Helper()
	for i, g := range e.grants[:n] {
		r, err := e.Renew(within(t), g, g.NotAfter+1)
		if err != nil {
			t.Fatal(err)
		}
		e.grants[i] = r
	}
}

// skewed acquires, and returns the clock skew that is to come of that.
func skewed(t *testing.T, c *etcd.Coordinator) *coord.ClockSkewError {
	t.Helper()
	g, err := c.Acquire(within(t), request(capacity))
	skew, ok := errors.AsType[*coord.ClockSkewError](err)
	if !ok {
		t.Fatalf("Acquire far from the holders' clocks: %v, %v; want a ClockSkewError", g, err)
	}
	if skew.Source == "" {
		t.Error("the error does not say whose clock the reference is")
	}
	return skew
}

// TestDeadHoldersAreNoClocks: a clock that disagrees with holders of whom none was seen to renew is
// not refused for good, since they may be dead. It is granted when their leases have ended, of
// which the error says when that is. Holders that have renewed since are alive: they refuse it
// for good.
func TestDeadHoldersAreNoClocks(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	ns := rand.Text()
	const ttl = time.Minute
	dead := newEarly(t, server, ns, 3, ttl)
	c := newCoordinator(t, server.Client(t), ns, nil)
	for range 2 {
		asked := time.Now()
		skew := skewed(t, c)
		if coord.Permanent(skew) || skew.Until.Before(asked) || skew.Until.After(time.Now().Add(ttl+5*time.Second)) {
			t.Fatalf("the leases of the holders last %v at the most, the error says %#v", ttl, skew)
		}
	}
	dead.renew(t, 1)
	if skew := skewed(t, c); coord.Permanent(skew) {
		t.Fatalf("one holder is alive, which is no reference: %v", skew)
	}
	dead.renew(t, 3)
	if skew := skewed(t, c); !coord.Permanent(skew) || skew.Local.Sub(skew.Reference) < 30*time.Minute {
		t.Errorf("all holders are alive and an hour behind: %#v", skew)
	}
	for _, g := range dead.grants {
		endLease(t, server.Client(t), ns, g.WorkerID)
	}
	mustAcquire(t, c, request(capacity))
}
