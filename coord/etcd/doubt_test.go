package etcd_test

import (
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/etcd"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// wantProtected checks that the floor is not below what a loss demands that was
// noticed since.
func (c *crew) wantProtected(t *testing.T, since time.Time) {
	t.Helper()
	if floor, least := floorOf(t, c.right[0]), since.Add(ward-2*etcd.DefaultSkewBound); floor.Before(least) {
		t.Errorf("the floor is %v; want %v or later", floor, least)
	}
}

// kin renews what the wrong one has left.
func (c *crew) kin(t *testing.T) {
	t.Helper()
	if _, err := c.wrong.Renew(within(t), c.kept, c.kept.NotAfter+1); err != nil && !errors.Is(err, coord.ErrQuarantined) {
		t.Fatal(err)
	}
}

// A clock that is behind raises the floor as others demand who live. That they cannot
// be seen any more does not make this clock right: the floor stays.
func TestFloorStaysWhenOthersVanish(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	c := newCrew(t, server)
	c.clock.Step(-time.Hour)
	lost := time.Now()
	c.lose(t)
	c.wantProtected(t, lost)
	for _, g := range c.grants {
		endLease(t, server.Client(t), c.ns, g.WorkerID)
	}
	c.kin(t)
	c.wantProtected(t, lost)
	if g, err := c.wrong.Acquire(within(t), at(-time.Hour)); err == nil && time.UnixMicro(scale().Micro(g.NotBefore)).Before(lost) {
		t.Errorf("windows were lost at %v, and granted was %v", lost, g)
	}
	c.wantProtected(t, lost)
}

// The one whose wrong clock has raised the floor holds nothing any more, and acquires
// nothing: it still lowers the floor when it sees that others live.
func TestFloorByAWrongClockThatHoldsNothing(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	eachOffset(t, func(t *testing.T, off time.Duration) {
		c := newCrew(t, server)
		endLease(t, server.Client(t), c.ns, c.kept.WorkerID)
		c.clock.Step(off)
		lost := time.Now()
		c.lose(t)
		for range 3 {
			c.renew(t)
			if g, err := c.wrong.Acquire(within(t), at(off)); !errors.Is(err, coord.ErrClockSkew) {
				t.Fatalf("Acquire with a clock that is off by %v: %v, %v", off, g, err)
			}
		}
		c.wantWait(t, lost)
	})
}

// The one whose wrong clock has raised the floor is gone. Three others live, and each
// sees that the floor is further ahead than the others' clocks explain.
func TestFloorByAWrongClockThatIsGone(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	for _, off := range offsets {
		c := newCrew(t, server)
		third := newCoordinator(t, server.Client(t), c.ns, nil)
		g := mustAcquire(t, third, request(capacity))
		c.clock.Step(off)
		lost := time.Now()
		c.lose(t)
		if err := c.wrong.Close(); err != nil {
			t.Fatal(err)
		}
		endLease(t, server.Client(t), c.ns, c.kept.WorkerID)
		for range 3 {
			c.renew(t)
			if _, err := third.Renew(within(t), g, g.NotAfter+1); err != nil && !errors.Is(err, coord.ErrQuarantined) {
				t.Fatal(err)
			}
		}
		c.wantWait(t, lost)
	}
}

// The answer to the write that raises the floor is lost: that the floor may be too high
// is not forgotten with it.
func TestLostReplyOnRaise(t *testing.T) {
	t.Parallel()
	r := newRobbed(t)
	c := &crew{ns: r.namespace, clock: clocktest.NewShifted(time.Now())}
	for i := range c.right {
		c.right[i] = newCoordinator(t, r.direct, c.ns, nil)
		c.grants[i] = mustAcquire(t, c.right[i], request(capacity))
	}
	c.wrong = newCoordinator(t, etcdtest.Connect(t, []string{r.proxy.Addr}, r.option()), c.ns, &etcd.Options{Clock: c.clock})
	c.gone = mustAcquire(t, c.wrong, request(capacity))
	c.clock.Step(24 * time.Hour)
	if _, err := r.direct.Delete(within(t), slotKey(c.ns, c.gone.WorkerID)); err != nil {
		t.Fatal(err)
	}
	lost := time.Now()
	r.rob(3, false) // the renewal, the namespace, the floor
	_, err := c.wrong.Renew(hurried(t), c.gone, c.gone.NotAfter+1)
	if stole := r.heal(); stole != 1 || err == nil {
		t.Fatalf("Renew of %v, whose slot is gone, with %d replies lost: %v", c.gone, stole, err)
	}
	for range 3 {
		c.renew(t)
		if g, err := c.wrong.Acquire(within(t), at(24*time.Hour)); !errors.Is(err, coord.ErrClockSkew) {
			t.Fatalf("Acquire with a clock that is ahead: %v, %v", g, err)
		}
	}
	c.wantProtected(t, lost)
	if floor := floorOf(t, c.right[0]); floor.After(time.Now().Add(time.Hour)) {
		t.Errorf("the floor is %v", floor)
	}
}

// One who lowers a floor, and one of the two others who live, have clocks that are
// behind: that the two do not agree is no reason to believe the wrong one.
func TestFloorIsNotLoweredByTheWrongOneOfTwo(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	for _, mine := range []time.Duration{0, -time.Hour, 24 * time.Hour} {
		c := newCrew(t, server)
		late := clocktest.NewShifted(time.Now())
		other := newCoordinator(t, server.Client(t), c.ns, &etcd.Options{Clock: late})
		g := mustAcquire(t, other, request(capacity))
		endLease(t, server.Client(t), c.ns, c.grants[1].WorkerID)
		late.Step(-time.Hour)
		if _, err := other.Renew(within(t), g, g.NotAfter+1); err != nil {
			t.Fatal(err)
		}
		c.clock.Step(24 * time.Hour) // so that there is a doubt
		lost := time.Now()
		c.lose(t)
		c.clock.Step(mine - 24*time.Hour)
		for range 2 {
			if _, err := c.right[0].Renew(within(t), c.grants[0], c.grants[0].NotAfter+1); err != nil && !errors.Is(err, coord.ErrQuarantined) {
				t.Fatal(err)
			}
			if _, err := other.Renew(within(t), g, g.NotAfter+1); err != nil && !errors.Is(err, coord.ErrQuarantined) {
				t.Fatal(err)
			}
			c.kin(t)
		}
		c.wantProtected(t, lost)
	}
}

// The namespace is gone, or all who held something, and the first to notice has a wrong
// clock, with which nothing can be compared: the floor comes down when others are back.
func TestFloorByAWrongClockThatWasAlone(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	for _, lost := range []string{"", "owner/"} {
		for _, off := range offsets[:3] {
			c := newCrew(t, server)
			c.clock.Step(off)
			if _, err := server.Client(t).Delete(within(t), "/unalike/"+c.ns+"/"+lost, clientv3.WithPrefix()); err != nil {
				t.Fatal(err)
			}
			noticed := time.Now()
			if lost != "" {
				c.lose(t)
			}
			held := mustAcquire(t, c.wrong, at(off))
			for _, g := range []coord.Grant{c.gone, c.kept} {
				if lost == "" {
					if r, err := c.wrong.Renew(within(t), g, g.NotAfter+1); !errors.Is(err, coord.ErrLeaseLost) {
						t.Fatalf("Renew of %v, which is gone: %v, %v", g, r, err)
					}
				}
			}
			c.kept = held
			for i := range c.right {
				c.grants[i] = mustAcquire(t, newCoordinator(t, server.Client(t), c.ns, nil), request(capacity))
			}
			for range 2 {
				c.kin(t)
				c.renew(t)
			}
			c.kin(t)
			c.wantWait(t, noticed)
		}
	}
}
