package etcd_test

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/etcd"
	"github.com/unalike-id/unalike/core"
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

// A clock that disagrees with holders of whom none was seen to renew is not refused for
// good: they may be dead. It is granted when their leases have ended.
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
	for _, g := range dead.grants {
		endLease(t, server.Client(t), ns, g.WorkerID)
	}
	mustAcquire(t, c, request(capacity))
}

// Holders that have renewed since are alive: they refuse a clock for good.
func TestLivingHoldersAreClocks(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	ns := rand.Text()
	alive := newEarly(t, server, ns, 3, time.Minute)
	c := newCoordinator(t, server.Client(t), ns, nil)
	if skew := skewed(t, c); coord.Permanent(skew) {
		t.Errorf("the first look is refused for good: %v", skew)
	}
	alive.renew(t, 3)
	if skew := skewed(t, c); !coord.Permanent(skew) || skew.Local.Sub(skew.Reference) < 30*time.Minute {
		t.Fatalf("all holders are alive and an hour behind: %#v", skew)
	}
	// They set their clocks.
	alive.clock.Step(time.Hour)
	alive.renew(t, 3)
	mustAcquire(t, c, request(capacity))
}

// A generator starts by itself among dead holders.
func TestStartAmongDeadHolders(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	ns := rand.Text()
	newEarly(t, server, ns, 3, 2*time.Second)
	began := time.Now()
	g, err := core.New(within(t), newCoordinator(t, server.Client(t), ns, nil), core.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("started after %v", time.Since(began))
	if err := g.Close(within(t)); err != nil {
		t.Error(err)
	}
}

// If every worker ID is held, the error says when the next lease ends, as etcd knows it in
// whole seconds, and about the same again while the holder shows no life.
func TestSoonest(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	ns := rand.Text()
	const ttl = time.Minute
	began := time.Now()
	newEarly(t, server, ns, 1, ttl)
	c := newCoordinator(t, server.Client(t), ns, nil)
	soonest := func() time.Time {
		t.Helper()
		_, err := c.Acquire(within(t), request(1))
		full, ok := errors.AsType[*coord.NoWorkerIDError](err)
		if !ok {
			t.Fatalf("Acquire with every worker ID held: %v", err)
		}
		// By the holder's clock, which is early.
		if seen := full.LastSeen.Add(time.Hour); seen.Before(began.Add(-time.Millisecond)) || seen.After(time.Now().Add(time.Millisecond)) {
			t.Errorf("its holder was last seen at %v; it acquired after %v", seen, began)
		}
		return full.Soonest
	}
	asked := time.Now()
	first := soonest()
	if first.Before(asked) || first.After(time.Now().Add(ttl+5*time.Second)) {
		t.Errorf("asked at %v, with a TTL of %v: the next is free at %v", asked, ttl, first)
	}
	if again := soonest(); again.Sub(first).Abs() > 2*time.Second {
		t.Errorf("the holder shows no life, and the next was free at %v and is at %v", first, again)
	}
}
