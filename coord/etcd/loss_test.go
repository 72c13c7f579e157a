package etcd_test

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/etcd"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// floorOf returns the floor of a namespace; zero: it was never raised.
func floorOf(t *testing.T, c *etcd.Coordinator) time.Time {
	t.Helper()
	ns, err := c.Inspect(within(t))
	if err != nil {
		t.Fatal(err)
	}
	return ns.Floor
}

// advance makes the cluster's revision rise by n, as others do who use it.
func advance(t *testing.T, client *clientv3.Client, n int) {
	t.Helper()
	for range n {
		if _, err := client.Put(within(t), "/others", ""); err != nil {
			t.Fatal(err)
		}
	}
}

// renewed renews a grant n times.
func renewed(t *testing.T, c *etcd.Coordinator, g coord.Grant, n int) coord.Grant {
	t.Helper()
	for range n {
		var err error
		if g, err = c.Renew(within(t), g, g.NotAfter+10); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// Each generation is granted once: if a holder finds its own generation with another
// token, a grant was lost, although every number is higher than before.
func TestGenerationGrantedTwice(t *testing.T) {
	t.Parallel()
	for _, hadBefore := range []bool{false, true} {
		server := etcdtest.Start(t)
		ns := rand.Text()
		a := newCoordinator(t, server.Client(t), ns, nil)
		b := newCoordinator(t, server.Client(t), ns, nil)
		if hadBefore { // so that the slot itself was not made again
			g := mustAcquire(t, a, request(1))
			if err := a.Release(within(t), g, g.NotBefore); err != nil {
				t.Fatal(err)
			}
		}
		restore := rollBack(t, server)
		held := renewed(t, a, mustAcquire(t, a, request(1)), 1)
		restore()
		advance(t, server.Client(t), 50)
		if other := mustAcquire(t, b, request(1)); other.Generation != held.Generation {
			t.Fatalf("granted was %v, and after the loss %v", held, other)
		}
		noticed := tickNow()
		if r, err := a.Renew(within(t), held, held.NotAfter+10); !errors.Is(err, coord.ErrLeaseLost) {
			t.Errorf("Renew of %v: %v, %v; want %v", held, r, err, coord.ErrLeaseLost)
		}
		wantFloor(t, newCoordinator(t, server.Client(t), ns, nil), noticed, held)
	}
}

// A holder and a newcomer of a namespace that was deleted, and made again by others,
// know that it is another one.
func TestNamespaceMadeAgain(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	for name, notice := range map[string]func(c *etcd.Coordinator, held coord.Grant) error{
		"Acquire": func(c *etcd.Coordinator, _ coord.Grant) error {
			_, err := c.Acquire(within(t), request(capacity))
			return err
		},
		"Renew": func(c *etcd.Coordinator, held coord.Grant) error {
			_, err := c.Renew(within(t), held, held.NotAfter+10)
			if errors.Is(err, coord.ErrLeaseLost) {
				return nil
			}
			return err
		},
	} {
		ns := rand.Text()
		a := newCoordinator(t, server.Client(t), ns, nil)
		held := mustAcquire(t, a, request(capacity))
		if _, err := server.Client(t).Delete(within(t), "/unalike/"+ns+"/", clientv3.WithPrefix()); err != nil {
			t.Fatal(err)
		}
		// Twice, so that a's worker ID is held by somebody, too.
		b := newCoordinator(t, server.Client(t), ns, nil)
		for range 2 {
			mustAcquire(t, b, request(2))
		}
		noticed := tickNow()
		if err := notice(a, held); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		wantFloor(t, newCoordinator(t, server.Client(t), ns, nil), noticed, held)
	}
}

// A floor that the cluster has forgotten holds on, if the one who notices has seen it.
func TestForgottenFloor(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	ns := rand.Text()
	operator := newCoordinator(t, server.Client(t), ns, nil)
	if err := operator.Init(within(t), space()); err != nil {
		t.Fatal(err)
	}
	restore := rollBack(t, server)
	floor, err := operator.Quarantine(within(t), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	c := newCoordinator(t, server.Client(t), ns, nil)
	g := renewed(t, c, mustAcquire(t, c, request(capacity)), 20)
	restore()
	if r, err := c.Renew(within(t), g, g.NotAfter+1); err == nil {
		t.Fatalf("Renew of %v, which was lost: %v", g, r)
	}
	for _, by := range []*etcd.Coordinator{c, newCoordinator(t, server.Client(t), ns, nil)} {
		if h := mustAcquire(t, by, request(capacity)); h.NotBefore < scale().Tick(floor.UnixMicro()) {
			t.Errorf("the floor was %d before the loss, granted after it is %v", scale().Tick(floor.UnixMicro()), h)
		}
	}
}

// closely is by how much clocks may differ where it matters when something was seen: all
// tests have one clock.
const closely = 10 * time.Millisecond

// lostOnce is a cluster that was rolled back, which a holder has noticed.
type lostOnce struct {
	server *etcdtest.Server
	ns     string
	b      *etcd.Coordinator // has noticed it
	kept   coord.Grant       // of b
	late   *etcd.Coordinator // has seen the lost writes, and has not asked since
	grant  coord.Grant       // of late
	floor  time.Time
}

func newLostOnce(t *testing.T) *lostOnce {
	t.Helper()
	l := &lostOnce{server: etcdtest.Start(t), ns: rand.Text()}
	l.b = newCoordinator(t, l.server.Client(t), l.ns, &etcd.Options{SkewBound: closely})
	l.late = newCoordinator(t, l.server.Client(t), l.ns, &etcd.Options{SkewBound: closely})
	l.kept = mustAcquire(t, l.b, request(capacity))
	l.grant = mustAcquire(t, l.late, request(capacity))
	restore := rollBack(t, l.server)
	l.grant = renewed(t, l.late, l.grant, 10)
	l.kept = renewed(t, l.b, l.kept, 20)
	l.grant = renewed(t, l.late, l.grant, 1)
	restore()
	quarantined(t, l.b, l.kept, tickNow())
	l.floor = floorOf(t, l.b)
	return l
}

// Who learns late of a loss that was dealt with does not raise the floor again, whether
// the number of the cluster shows it or that of a slot.
func TestLateWitness(t *testing.T) {
	t.Parallel()
	for _, passed := range []int{0, 200} {
		l := newLostOnce(t)
		advance(t, l.server.Client(t), passed)
		if h := mustAcquire(t, l.late, request(capacity)); h.NotBefore < scale().Tick(l.floor.UnixMicro())-1 {
			t.Errorf("the floor is %v, granted was %v", l.floor, h)
		}
		r, err := l.late.Renew(within(t), l.grant, l.grant.NotAfter+10)
		if !errors.Is(err, coord.ErrQuarantined) {
			t.Errorf("Renew in quarantine: %v, %v", r, err)
		}
		if floor := floorOf(t, l.b); !floor.Equal(l.floor) {
			t.Errorf("the floor was raised to %v for the loss, and to %v by a late witness", l.floor, floor)
		}
	}
}

// A loss that was known explains nothing that was seen since: the cluster was rolled
// back once more, to a time after the first loss.
func TestSecondLoss(t *testing.T) {
	t.Parallel()
	l := newLostOnce(t)
	mustAcquire(t, l.late, request(capacity)) // it knows of the first one now
	restore := rollBack(t, l.server)
	gone := mustAcquire(t, l.late, request(capacity))
	advance(t, l.server.Client(t), 100)
	mustAcquire(t, l.late, request(capacity))
	restore()
	h := mustAcquire(t, l.late, request(capacity))
	if floor := floorOf(t, l.b); !floor.After(l.floor) || h.NotBefore < scale().Tick(floor.UnixMicro())-1 {
		t.Errorf("the floor was %v after the first loss and is %v after the second; granted was %v, and %v after it", l.floor, floor, gone, h)
	}
	// The third one knows neither loss, and has nothing to tell.
	raised := floorOf(t, l.b)
	mustAcquire(t, newCoordinator(t, l.server.Client(t), l.ns, nil), request(capacity))
	if floor := floorOf(t, l.b); !floor.Equal(raised) {
		t.Errorf("the floor was %v and is %v", raised, floor)
	}
}

// After an operator's Quarantine of a namespace that was restored, neither the first
// acquisition nor a holder from before raises the floor again. A new cluster token tells
// everybody of the restore; without one only the holder notices it, after the operator.
func TestQuarantineSettlesALoss(t *testing.T) {
	t.Parallel()
	for name, newToken := range map[string]bool{"a new cluster token": true, "the old one": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			quarantineSettlesALoss(t, newToken)
		})
	}
}

func quarantineSettlesALoss(t *testing.T, newToken bool) {
	t.Helper()
	server := etcdtest.Start(t)
	ns := rand.Text()
	// Clocks that are a little behind: that somebody else raises the floor again would show.
	behind := &etcd.Options{SkewBound: closely, Clock: clocktest.NewShifted(time.Now().Add(-closely / 2))}
	a := newCoordinator(t, server.Client(t), ns, behind)
	held := mustAcquire(t, a, request(capacity))
	restore := rollBack(t, server)
	held = renewed(t, a, held, 20)
	restore()
	if newToken {
		if _, err := server.Client(t).Put(within(t), "/unalike/"+ns+"/cluster", "deadbeef"); err != nil {
			t.Fatal(err)
		}
	}
	operator := newCoordinator(t, server.Client(t), ns, behind)
	noticed := tickNow() - closely.Milliseconds()/2
	if floor, err := operator.Quarantine(within(t), time.Time{}); err != nil || scale().Tick(floor.UnixMicro()) < noticed+(etcd.MaxHorizon+closely).Milliseconds()-1 {
		t.Fatalf("Quarantine at tick %d: %v, %v", noticed, floor, err)
	}
	floor := floorOf(t, operator)
	if g := mustAcquire(t, newCoordinator(t, server.Client(t), ns, nil), request(capacity)); g.NotBefore < held.NotAfter {
		t.Errorf("%v was granted although %v was", g, held)
	}
	if r, err := a.Renew(within(t), held, held.NotAfter+10); !errors.Is(err, coord.ErrQuarantined) {
		t.Errorf("Renew in quarantine: %v, %v", r, err)
	}
	if after := floorOf(t, operator); !after.Equal(floor) {
		t.Errorf("the operator raised the floor to %v, and it was raised again to %v", floor, after)
	}
}
