package redis_test

import (
	"errors"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// elsewhere makes a namespace one that another server has left.
func elsewhere(tb testing.TB, client *goredis.Client, ns string) {
	tb.Helper()
	if err := client.HSet(within(tb), redis.KeyOf(ns), "origin", "elsewhere-1 1 0").Err(); err != nil {
		tb.Fatal(err)
	}
}

// TestClosed: whoever knows that a namespace was closed closes it again if the server has forgotten it.
func TestClosed(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := server.Client(t)
	c := newCoordinator(t, client, newNamespace(t, client, layout), nil)
	mustAcquire(t, c, request(2))
	if _, err := c.Quarantine(within(t), time.UnixMicro(scale().Micro(space().LastTick))); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if h, err := c.Acquire(within(t), request(2)); !errors.Is(err, coord.ErrNamespaceClosed) {
			t.Errorf("Acquire: %v, %v", h, err)
		}
		server.Do(t, "FLUSHALL")
	}
}

// TestInitAfterALoss: a holder that shows a grant which the server has forgotten has
// shown that the namespace is not new, also if somebody else has had it made before. However often it
// is declared new then, the windows that were lost are waited out.
func TestInitAfterALoss(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := server.Client(t)
	for name, show := range map[string]func(c *redis.Coordinator, g coord.Grant) error{
		"renewal": func(c *redis.Coordinator, g coord.Grant) error {
			_, err := c.Renew(within(t), g, g.NotAfter+100)
			return err
		},
		"renewal, made again": func(c *redis.Coordinator, g coord.Grant) error {
			_, err := c.Renew(within(t), g, g.NotAfter+100)
			return err
		},
		"release": func(c *redis.Coordinator, g coord.Grant) error { return c.Release(within(t), g, g.NotBefore) },
	} {
		ns := newNamespace(t, client, layout)
		holder := newCoordinator(t, client, ns, nil)
		g := mustAcquire(t, holder, request(1))
		server.Do(t, "FLUSHALL")
		if name == "renewal, made again" {
			madeOnly(t, server, ns)
		}
		least := tickNow() + redis.MaxHorizon.Milliseconds()
		if err := show(holder, g); err == nil {
			t.Errorf("%s in a namespace that is lost", name)
		}
		for range 2 {
			if err := newCoordinator(t, client, ns, nil).Init(within(t), space()); err != nil {
				t.Fatal(err)
			}
		}
		if h := mustAcquire(t, newCoordinator(t, client, ns, nil), request(1)); h.NotBefore < least {
			t.Errorf("%s: %v was granted after the loss; windows that were lost reach up to %d", name, h, least)
		}
	}
}

// madeOnly has a namespace made by an acquisition that gets no further.
func madeOnly(t *testing.T, server *redistest.Server, ns string) {
	t.Helper()
	i := interrupted(t, server)
	i.fails = `"write":{"meta":"1 `
	if g, err := newCoordinator(t, i.client, ns, nil).Acquire(within(t), request(1)); !errors.Is(err, errAway) {
		t.Fatalf("Acquire: %v, %v", g, err)
	}
}

// TestFirstStart: what was never there looks like what was lost, until it is declared new.
func TestFirstStart(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := server.Client(t)
	least := tickNow() + redis.MaxHorizon.Milliseconds()
	if g := mustAcquire(t, newCoordinator(t, client, "first", nil), request(1)); g.NotBefore < least || g.NotAfter != g.NotBefore {
		t.Errorf("the first grant of a namespace that was not declared new is %v; want an empty window from %d on", g, least)
	}
	c := newCoordinator(t, client, "second", nil)
	madeOnly(t, server, "second")
	if err := c.Init(within(t), space()); err != nil {
		t.Fatal(err)
	}
	if g := mustAcquire(t, c, request(1)); g.NotBefore != 0 {
		t.Errorf("after nothing was granted, the namespace was declared new, and %v was granted", g)
	}
}

// TestLossInAQuarantine: towards the end of a quarantine, windows are granted and extended
// that reach beyond it. If the server forgets them while the quarantine lasts, that is a
// loss as any other.
func TestLossInAQuarantine(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t, redistest.Options{}).Client(t)
	ns := newNamespace(t, client, layout)
	holder, other := shortCoordinator(t, client, ns), shortCoordinator(t, client, ns)
	elsewhere(t, client, ns)
	mustRelease(t, other, acquireShort(t, other, 4))
	first := metaOf(t, client, ns)
	eventually(t, "windows reach beyond the quarantine", func() bool { return tickNow()+shortHorizon.Milliseconds() > first.Floor+100 })
	restore := backup(t, client, ns)
	g := acquireShort(t, holder, 4)
	if g.NotAfter <= g.NotBefore || g.NotBefore < first.Floor {
		t.Fatalf("in a quarantine until %d, %v was granted; want a window beyond it", first.Floor, g)
	}
	restore()
	if _, err := holder.Renew(within(t), g, g.NotAfter+1); err == nil {
		t.Errorf("Renew of %v, which was lost", g)
	}
	m := metaOf(t, client, ns)
	if m.Loss.Nonce == first.Loss.Nonce || m.Floor < g.NotAfter {
		t.Errorf("the second loss is not on record: %+v; lost was %v", m, g)
	}
	if h := acquireShort(t, other, 4); h.NotBefore < m.Floor {
		t.Errorf("%v was granted below the floor %d, beside %v", h, m.Floor, g)
	}
}
