package zk_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/zk"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// wrongClock is off by some time.
type wrongClock struct{ by time.Duration }

func (c *wrongClock) UnixMicro() int64 { return time.Now().UnixMicro() + c.by.Microseconds() }

// metaOf is the record of a namespace as it is stored.
func (o operator) metaOf(t *testing.T, namespace string) string {
	t.Helper()
	value, _, err := o.Get(spacePath(namespace) + "/meta")
	if err != nil {
		t.Fatal(err)
	}
	return string(value)
}

// TestWrongClocks: whatever the clock of a holder or of an operator says, nobody else
// waits for longer than windows that are lost can reach.
func TestWrongClocks(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	o := newOperator(t, []string{server.Addr})
	const day, year = 24 * time.Hour, 365 * 24 * time.Hour
	for _, size := range []time.Duration{time.Minute, day, year, 100 * year} {
		for _, by := range []time.Duration{-size, size} {
			for what, lose := range map[string]func(ns string){
				"nothing is lost":       func(string) {},
				"a slot is lost":        func(ns string) { o.deleteTree(t, slotPath(ns, 0)) },
				"the namespace is lost": func(ns string) { o.deleteTree(t, spacePath(ns)) },
			} {
				t.Run(fmt.Sprintf("a holder by %v, %s", by, what), func(t *testing.T) {
					ns, clk := rand.Text(), new(wrongClock)
					c := newCoordinator(t, []string{server.Addr}, ns, &zk.Options{Clock: clk})
					g := mustAcquire(t, c, request(1))
					clk.by = by
					lose(ns)
					before := tickNow()
					_, err := c.Renew(within(t), g, tickNow()+by.Milliseconds()+10_000)
					loss := what != "nothing is lost"
					if loss != errors.Is(err, coord.ErrLeaseLost) {
						t.Errorf("Renew: %v", err)
					}
					if !loss {
						_ = c.Release(within(t), g, 0)
					}
					h := mustAcquire(t, newCoordinator(t, []string{server.Addr}, ns, nil), request(1))
					if h.NotBefore > tickNow()+ward || loss && h.NotBefore < before+ward {
						t.Errorf("%v was granted at tick %d", h, tickNow())
					}
				})
			}
			t.Run(fmt.Sprintf("an operator by %v", by), func(t *testing.T) {
				ns := rand.Text()
				c := newCoordinator(t, []string{server.Addr}, ns, &zk.Options{Clock: &wrongClock{by}})
				if err := c.Init(within(t), space()); err != nil {
					t.Fatal(err)
				}
				before := o.metaOf(t, ns)
				for _, until := range []time.Time{{}, time.Now().Add(time.Minute)} {
					var skew *coord.ClockSkewError
					if floor, err := c.Quarantine(within(t), until); !errors.As(err, &skew) || !floor.IsZero() {
						t.Errorf("Quarantine: %v, %v; want %v", floor, err, coord.ErrClockSkew)
					}
				}
				if floor, err := c.Lower(within(t)); !errors.Is(err, coord.ErrClockSkew) {
					t.Errorf("Lower: %v, %v; want %v", floor, err, coord.ErrClockSkew)
				}
				if after := o.metaOf(t, ns); after != before {
					t.Errorf("%s became %s", before, after)
				}
			})
		}
	}
}

// TestLower: a floor that reaches too far is lowered to what protects against a loss.
func TestLower(t *testing.T) {
	server := zktest.Start(t, zktest.Options{})
	o := newOperator(t, []string{server.Addr})
	ns := rand.Text()
	c := newCoordinator(t, []string{server.Addr}, ns, nil)
	if err := c.Init(within(t), space()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Quarantine(within(t), time.Time{}); err != nil {
		t.Fatal(err)
	}
	far := tickNow() + int64(365*24*time.Hour/time.Millisecond)
	o.forge(t, spacePath(ns)+"/meta", func(fields map[string]any) { fields["floor"] = far })
	before := tickNow()
	floor, err := newCoordinator(t, []string{server.Addr}, ns, nil).Lower(within(t))
	if tick := scale().Tick(floor.UnixMicro()); err != nil || tick < before+ward || tick > tickNow()+ward {
		t.Errorf("Lower: %v, %v; want about tick %d", floor, err, before+ward)
	}
}

// TestQuarantineBeforeTheEpoch: a time that no tick is for.
func TestQuarantineBeforeTheEpoch(t *testing.T) {
	server := zktest.Start(t, zktest.Options{})
	c := newCoordinator(t, []string{server.Addr}, rand.Text(), nil)
	if err := c.Init(within(t), space()); err != nil {
		t.Fatal(err)
	}
	for _, past := range []time.Time{time.Unix(0, 0), time.Date(-300_000, 1, 1, 0, 0, 0, 0, time.UTC)} {
		if floor, err := c.Quarantine(within(t), past); err != nil || scale().Tick(floor.UnixMicro()) != 0 {
			t.Errorf("Quarantine until %v: %v, %v; want the epoch", past, floor, err)
		}
	}
}

// TestKnownFloorHolds: a floor that somebody has asked for is put back by who knows it,
// whatever else was lost with it.
func TestKnownFloorHolds(t *testing.T) {
	server := zktest.Start(t, zktest.Options{})
	o := newOperator(t, []string{server.Addr})
	for what, lose := range map[string]func(t *testing.T, ns string){
		"the namespace is gone": func(t *testing.T, ns string) { t.Helper(); o.deleteTree(t, spacePath(ns)) },
		"the namespace is gone and was made again": func(t *testing.T, ns string) {
			t.Helper()
			o.deleteTree(t, spacePath(ns))
			mustAcquire(t, newCoordinator(t, []string{server.Addr}, ns, nil), request(1))
		},
		"the floor is gone": func(t *testing.T, ns string) {
			t.Helper()
			o.forge(t, spacePath(ns)+"/meta", func(fields map[string]any) { fields["floor"], fields["base"] = 0, 0 })
		},
	} {
		t.Run(what, func(t *testing.T) {
			ns := rand.Text()
			c := newCoordinator(t, []string{server.Addr}, ns, nil)
			if err := c.Init(within(t), space()); err != nil {
				t.Fatal(err)
			}
			asked, err := c.Quarantine(within(t), time.Now().Add(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			mustAcquire(t, c, request(2)) // it has seen the floor
			lose(t, ns)
			if h := mustAcquire(t, c, request(2)); h.NotBefore < scale().Tick(asked.UnixMicro()) {
				t.Errorf("%v was granted below the floor at %v", h, asked)
			}
			h := mustAcquire(t, newCoordinator(t, []string{server.Addr}, ns, nil), request(3))
			if h.NotBefore < scale().Tick(asked.UnixMicro()) {
				t.Errorf("%v was granted to somebody else below the floor at %v", h, asked)
			}
		})
	}
}

// TestStragglers: who learns late of a loss that was dealt with does not raise the
// floor again, and who learns of a second loss does, although the record of the first
// one is there again.
func TestStragglers(t *testing.T) {
	fulltest.Long(t, "a minute of real time")
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	ns := rand.Text()
	servers := []string{server.Addr}
	// All have one clock, and a server takes longer to restart than twice as much.
	const closely = 50 * time.Millisecond
	newcomer := func() *zk.Coordinator {
		return newCoordinator(t, servers, ns, &zk.Options{SkewBound: closely})
	}
	late := newcomer()
	visit := func(c *zk.Coordinator) coord.Grant {
		t.Helper()
		h := mustAcquire(t, c, request(capacity))
		if err := c.Release(within(t), h, h.NotBefore); err != nil {
			t.Fatal(err)
		}
		return h
	}
	if err := newcomer().Init(within(t), space()); err != nil {
		t.Fatal(err)
	}
	rollBack := keep(t, server)
	visit(late)
	holder, req := newcomer(), request(4)
	req.TTL = 2 * time.Second // a server that was rolled back refuses its session for that long
	g := mustAcquire(t, holder, req)
	for range 20 {
		visit(holder)
	}
	rollBack()

	// The operator knows of it first. Neither the holder nor who was away raises the
	// floor again.
	floor, err := newcomer().Quarantine(within(t), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	streamtest.Eventually(t, "the holder notices", func() bool {
		_, err := holder.Renew(within(t), g, tickNow()+10_000)
		return errors.Is(err, coord.ErrLeaseLost)
	})
	for _, c := range []*zk.Coordinator{holder, late} {
		if h := visit(c); h.NotBefore != scale().Tick(floor.UnixMicro()) {
			t.Errorf("%v was granted; want from %d on, the floor of the operator", h, scale().Tick(floor.UnixMicro()))
		}
	}

	// What the second loss takes away was seen after the first one was dealt with.
	rollBack = keep(t, server)
	for range 20 {
		visit(late)
	}
	from := tickNow() + (zk.MaxHorizon + closely).Milliseconds()
	rollBack()
	if h := visit(late); h.NotBefore < from {
		t.Errorf("%v was granted after the second loss; want from %d on", h, from)
	}
}
