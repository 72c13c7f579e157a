package etcd_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/etcd"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// offsets are how far a clock can be wrong.
var offsets = []time.Duration{time.Minute, 24 * time.Hour, 365 * 24 * time.Hour, 100 * 365 * 24 * time.Hour}

// eachOffset calls f for a clock that is ahead, and for one that is behind.
func eachOffset(t *testing.T, f func(t *testing.T, off time.Duration)) {
	t.Helper()
	for _, off := range offsets {
		t.Run("ahead by "+off.String(), func(t *testing.T) { f(t, off) })
		t.Run("behind by "+off.String(), func(t *testing.T) { f(t, -off) })
	}
}

// crew are two holders whose clocks are right, and one whose clock can be set.
type crew struct {
	server *etcdtest.Server
	ns     string
	right  [2]*etcd.Coordinator
	grants [2]coord.Grant
	clock  *clocktest.Shifted
	wrong  *etcd.Coordinator
	gone   coord.Grant // of wrong
	kept   coord.Grant // of wrong
}

func newCrew(t *testing.T, server *etcdtest.Server) *crew {
	t.Helper()
	c := &crew{server: server, ns: rand.Text(), clock: clocktest.NewShifted(time.Now())}
	client := server.Client(t)
	for i := range c.right {
		c.right[i] = newCoordinator(t, client, c.ns, nil)
		c.grants[i] = mustAcquire(t, c.right[i], request(capacity))
	}
	c.wrong = newCoordinator(t, client, c.ns, &etcd.Options{Clock: c.clock})
	c.gone, c.kept = mustAcquire(t, c.wrong, request(capacity)), mustAcquire(t, c.wrong, request(capacity))
	return c
}

// renew renews the right ones, which may be in quarantine.
func (c *crew) renew(t *testing.T) {
	t.Helper()
	for i := range c.right {
		if _, err := c.right[i].Renew(within(t), c.grants[i], c.grants[i].NotAfter+1); err != nil && !errors.Is(err, coord.ErrQuarantined) {
			t.Fatal(err)
		}
	}
}

// lose has the wrong one notice a loss.
func (c *crew) lose(t *testing.T) {
	t.Helper()
	if _, err := c.server.Client(t).Delete(within(t), slotKey(c.ns, c.gone.WorkerID)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.wrong.Renew(within(t), c.gone, c.gone.NotAfter+1); !errors.Is(err, coord.ErrLeaseLost) {
		t.Fatalf("Renew of %v, whose slot is gone: %v", c.gone, err)
	}
}

// wantWait checks for how long others wait for the floor: for as long as windows that
// were lost can last, give or take the bound.
func (c *crew) wantWait(t *testing.T, since time.Time) {
	t.Helper()
	floor := floorOf(t, c.right[0])
	if low, high := since.Add(ward-2*etcd.DefaultSkewBound), time.Now().Add(ward+2*etcd.DefaultSkewBound); floor.Before(low) || floor.After(high) {
		t.Errorf("the floor is %v; want it between %v and %v", floor, low, high)
	}
}

// A holder whose clock is wrong notices a loss: the floor protects at once, whatever the clock
// says. If that is too far, the error says so, and what lowers it.
func TestFloorByAWrongClock(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	eachOffset(t, func(t *testing.T, off time.Duration) {
		c := newCrew(t, server)
		c.clock.Step(off)
		lost := time.Now()
		c.lose(t)
		if floor := floorOf(t, c.right[0]); floor.Before(lost.Add(ward - 2*etcd.DefaultSkewBound)) {
			t.Errorf("the loss was noticed at %v, and the floor is %v", lost, floor)
		}
		_, err := c.right[0].Renew(within(t), c.grants[0], c.grants[0].NotAfter+1)
		if !errors.Is(err, coord.ErrQuarantined) || strings.Contains(err.Error(), "unalike quarantine --lower") != (off > 0) {
			t.Errorf("Renew after a clock that is off by %v has raised the floor: %v", off, err)
		}
	})
}

// Others who seem to hold worker IDs, and are dead, change nothing: the clock is right,
// and the floor stays where it put it.
func TestFloorAmongDeadHolders(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	ns := rand.Text()
	dead := newEarly(t, server, ns, 3, time.Minute)
	c := newCoordinator(t, server.Client(t), ns, nil)
	req := at(-time.Hour) // it was right when the others lived
	g := mustAcquire(t, c, req)
	h := mustAcquire(t, c, at(-time.Hour))
	if _, err := server.Client(t).Delete(within(t), slotKey(ns, g.WorkerID)); err != nil {
		t.Fatal(err)
	}
	noticed := tickNow()
	if _, err := c.Renew(within(t), g, g.NotAfter+1); !errors.Is(err, coord.ErrLeaseLost) {
		t.Fatalf("Renew of %v, whose slot is gone: %v", g, err)
	}
	for _, ended := range []bool{false, true} {
		if ended {
			for _, d := range dead.grants {
				endLease(t, server.Client(t), ns, d.WorkerID)
			}
		}
		if _, err := c.Renew(within(t), h, h.NotAfter+1); !errors.Is(err, coord.ErrQuarantined) {
			t.Fatalf("Renew in quarantine: %v", err)
		}
		if floor := scale().Tick(floorOf(t, c).UnixMicro()); floor < noticed+ward.Milliseconds() {
			t.Errorf("leases of the dead ended: %v; a loss was noticed at %d, and the floor is %d", ended, noticed, floor)
		}
	}
}

// A wrong clock that nobody contradicts raises the floor by as much as it is wrong, but
// closes nothing, and Lower is the way out.
func TestLowerAfterAWrongClock(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	for _, off := range offsets {
		c := newCrew(t, server)
		for _, g := range c.grants {
			endLease(t, server.Client(t), c.ns, g.WorkerID)
		}
		c.clock.Step(off)
		lost := time.Now()
		c.lose(t)
		endLease(t, server.Client(t), c.ns, c.kept.WorkerID)
		ns, err := c.right[0].Inspect(within(t))
		if err != nil || ns.Closed || ns.Floor.Before(lost.Add(ward+off/2)) && off < offsets[3] {
			t.Errorf("a clock ahead by %v has raised the floor: %+v, %v", off, ns, err)
		}
		floor, err := c.right[0].Lower(within(t))
		if err != nil || floor.After(time.Now().Add(ward+time.Second)) {
			t.Errorf("Lower after a clock ahead by %v: %v, %v", off, floor, err)
		}
		c.wantWait(t, lost)
	}
}

// An operator whose clock is behind those of all holders lowers no floor.
func TestOperatorWithAWrongClock(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	for _, off := range offsets {
		c := newCrew(t, server)
		c.lose(t) // there is a floor
		before := stored(t, server.Client(t), "/unalike/"+c.ns+"/namespace")
		c.clock.Step(-off)
		_, err := c.wrong.Lower(within(t))
		if skew, ok := errors.AsType[*coord.ClockSkewError](err); !ok || !coord.Permanent(err) || skew.Max != etcd.DefaultSkewBound {
			t.Errorf("Lower by an operator whose clock is behind by %v: %v; want a ClockSkewError", off, err)
		}
		if after := stored(t, server.Client(t), "/unalike/"+c.ns+"/namespace"); after != before {
			t.Errorf("an operator whose clock is behind by %v has changed %s to %s", off, before, after)
		}
	}
}

// What an operator asks for that is so already is answered without a write, whatever
// their clock says.
func TestQuarantineThatChangesNothing(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	c := newCrew(t, server)
	key := "/unalike/" + c.ns + "/namespace"
	revision := func() int64 {
		resp, err := server.Client(t).Get(within(t), key)
		if err != nil {
			t.Fatal(err)
		}
		return resp.Kvs[0].ModRevision
	}
	before := revision()
	c.clock.Step(time.Hour)
	floor, err := c.wrong.Quarantine(within(t), time.UnixMicro(scale().Micro(0)))
	if err != nil || !floor.Equal(time.UnixMicro(scale().Micro(0))) || revision() != before {
		t.Errorf("Quarantine until the epoch: %v, %v; revision %d, and %d before", floor, err, revision(), before)
	}
}

// slotKey is the key of a worker ID's window.
func slotKey(namespace string, worker int) string {
	return fmt.Sprintf("/unalike/%s/slot/%010d", namespace, worker)
}
