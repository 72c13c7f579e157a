package redis_test

import (
	"crypto/rand"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// TestQuarantineOfNothing: Init is not for a loss, and the error says so.
func TestQuarantineOfNothing(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	_, err := newCoordinator(t, client, rand.Text(), nil).Quarantine(within(t), time.Time{})
	drivertest.WantInvalid(t, "Quarantine of nothing", err, "if it was lost, do nothing")
}

// TestNewNamespaceIsQuarantined: what was never there looks like what was lost.
func TestNewNamespaceIsQuarantined(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	c := newCoordinator(t, client, rand.Text(), nil)
	before := tickNow()
	g := mustAcquire(t, c, request(1))
	if least := before + (redis.MaxHorizon + redis.DefaultSkewBound).Milliseconds(); g.NotBefore < least || g.NotAfter != g.NotBefore {
		t.Errorf("the first grant of a namespace that was not declared new is %v; want an empty window from %d on", g, least)
	}
	if h, err := c.Renew(within(t), g, g.NotAfter+100); err != nil || h.NotBefore != g.NotBefore {
		t.Errorf("Renew of it: %v, %v", h, err)
	}
}

// makeRefused lets an acquisition make a namespace and be refused, because the server may
// evict keys.
func makeRefused(t *testing.T, server *redistest.Server, c *redis.Coordinator) {
	t.Helper()
	for setting, value := range map[string]string{"maxmemory": "100mb", "maxmemory-policy": "allkeys-lru"} {
		server.Do(t, "CONFIG", "SET", setting, value)
	}
	if g, err := c.Acquire(within(t), request(1)); !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), "allkeys-lru") {
		t.Fatalf("Acquire from a server that evicts: %v, %v", g, err)
	}
	server.Do(t, "CONFIG", "SET", "maxmemory", "0")
}

// TestInitEndsAQuarantine: that of a namespace in which nothing was granted, of which
// nobody has shown a grant either; but not what an operator has raised.
func TestInitEndsAQuarantine(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := server.Client(t)
	c := newCoordinator(t, client, rand.Text(), nil)
	makeRefused(t, server, c)
	before := time.Now()
	raised := before.Add(5 * time.Second).Truncate(time.Millisecond)
	if got, err := c.Quarantine(within(t), raised); err != nil || !got.After(raised) {
		t.Errorf("Quarantine below the one there is: %v, %v", got, err)
	}
	if err := c.Init(within(t), space()); err != nil {
		t.Fatal(err)
	}
	if g := mustAcquire(t, c, request(1)); g.NotBefore != scale().Tick(raised.UnixMicro()) {
		t.Errorf("%v was granted; the floor that was raised is %d", g, scale().Tick(raised.UnixMicro()))
	}
}

// TestInitAfterALoss: a holder that shows a grant which the server has forgotten has
// shown that the namespace is not new. However often it is declared new then, the
// windows that were lost are waited out.
func TestInitAfterALoss(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := server.Client(t)
	for name, show := range map[string]func(*testing.T, *redis.Coordinator, coord.Grant){
		"renewal": func(t *testing.T, c *redis.Coordinator, g coord.Grant) {
			t.Helper()
			var wait *coord.QuarantinedError
			before := time.Now()
			if h, err := c.Renew(within(t), g, g.NotAfter+100); !errors.As(err, &wait) || wait.Until.Before(before.Add(redis.MaxHorizon)) {
				t.Fatalf("Renew in a namespace that is lost: %v, %v", h, err)
			}
		},
		"release": func(t *testing.T, c *redis.Coordinator, g coord.Grant) {
			t.Helper()
			if err := c.Release(within(t), g, g.NotBefore); !errors.Is(err, coord.ErrLeaseLost) {
				t.Fatalf("Release in a namespace that is lost: %v", err)
			}
		},
		// What a grant without its handle proves, it proves in a quarantine alone.
		"renewal, bare": func(t *testing.T, c *redis.Coordinator, g coord.Grant) {
			t.Helper()
			makeRefused(t, server, c)
			g.Handle = nil
			if h, err := c.Renew(within(t), g, g.NotAfter+100); !errors.Is(err, coord.ErrQuarantined) {
				t.Fatalf("Renew in a namespace that is lost: %v, %v", h, err)
			}
		},
		"release, bare": func(t *testing.T, c *redis.Coordinator, g coord.Grant) {
			t.Helper()
			makeRefused(t, server, c)
			g.Handle = nil
			if err := c.Release(within(t), g, g.NotBefore); !errors.Is(err, coord.ErrLeaseLost) {
				t.Fatalf("Release in a namespace that is lost: %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ns := newNamespace(t, client, layout)
			g := mustAcquire(t, newCoordinator(t, client, ns, nil), request(1))
			server.Do(t, "FLUSHALL")
			least := tickNow() + redis.MaxHorizon.Milliseconds()
			show(t, newCoordinator(t, client, ns, nil), g) // with the grant alone
			meta := ""
			for i := range 2 {
				operator := newCoordinator(t, client, ns, nil)
				if err := operator.Init(within(t), space()); err != nil {
					t.Fatal(err)
				}
				now := stored(t, client, ns, "meta")
				if i > 0 && now != meta {
					t.Errorf("repeated, Init has left %s; it was %s", now, meta)
				}
				// What is shown again changes nothing.
				if _, err := operator.Renew(within(t), g, g.NotAfter+100); !errors.Is(err, coord.ErrQuarantined) {
					t.Errorf("Renew after the namespace was declared new: %v; want %v", err, coord.ErrQuarantined)
				}
				if meta = stored(t, client, ns, "meta"); meta != now {
					t.Errorf("Renew has left %s; it was %s", meta, now)
				}
			}
			if h := mustAcquire(t, newCoordinator(t, client, ns, nil), request(1)); h.NotBefore < least {
				t.Errorf("%v was granted after the loss; windows that were lost reach up to %d", h, least)
			}
		})
	}
}

// TestInitElsewhere: a namespace that was declared on another server, or on this one
// before its data took another course, may have been used there.
func TestInitElsewhere(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	for name, look := range map[string]func(*testing.T, *redis.Coordinator){
		"at once": func(*testing.T, *redis.Coordinator) {},
		"after somebody has seen it": func(t *testing.T, c *redis.Coordinator) {
			t.Helper()
			if _, err := c.Quarantine(within(t), time.UnixMicro(scale().Epoch)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ns := newNamespace(t, client, layout)
			c := newCoordinator(t, client, ns, nil)
			meta := regexp.MustCompile(`"lineage":"[^"]*"`).ReplaceAllString(stored(t, client, ns, "meta"), `"lineage":"elsewhere-1"`)
			if err := client.HSet(within(t), slots(ns), "meta", meta).Err(); err != nil {
				t.Fatal(err)
			}
			least := tickNow() + redis.MaxHorizon.Milliseconds()
			look(t, c)
			for range 2 {
				if err := c.Init(within(t), space()); err != nil {
					t.Fatal(err)
				}
			}
			if g := mustAcquire(t, c, request(1)); g.NotBefore < least {
				t.Errorf("%v was granted; windows that were granted elsewhere reach up to %d", g, least)
			}
		})
	}
}

// TestClosed: in a namespace whose floor is the end of the layout nothing is granted or
// extended, and the windows there are stay as they are. Whoever knows that closes it again
// if the server has forgotten it.
func TestClosed(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := server.Client(t)
	c := newCoordinator(t, client, newNamespace(t, client, layout), nil)
	g := mustAcquire(t, c, request(2))
	end := time.UnixMicro(scale().Micro(space().LastTick))
	if _, err := c.Quarantine(within(t), end); err != nil {
		t.Fatal(err)
	}
	if h, err := c.Acquire(within(t), request(2)); !errors.Is(err, coord.ErrNamespaceClosed) {
		t.Errorf("Acquire: %v, %v", h, err)
	}
	if h, err := c.Renew(within(t), g, g.NotAfter+1000); !errors.Is(err, coord.ErrNamespaceClosed) || errors.Is(err, coord.ErrQuarantined) {
		t.Errorf("Renew: %v, %v; want %v", h, err, coord.ErrNamespaceClosed)
	}
	if slots, err := c.List(within(t)); err != nil || len(slots) != 1 || slots[0].NotAfter != g.NotAfter {
		t.Errorf("slots are %+v, %v; want one that ends at %d", slots, err, g.NotAfter)
	}
	server.Do(t, "FLUSHALL")
	if h, err := c.Acquire(within(t), request(2)); !errors.Is(err, coord.ErrNamespaceClosed) {
		t.Errorf("Acquire after it was forgotten: %v, %v", h, err)
	}
}
