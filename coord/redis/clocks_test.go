package redis_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// wrongClocks are by how much clocks are off, both ways.
var wrongClocks = func() (all []time.Duration) {
	const year = 365 * 24 * time.Hour
	for _, d := range []time.Duration{time.Minute, 24 * time.Hour, year, 100 * year} {
		all = append(all, d, -d)
	}
	return all
}()

// wrongly returns a coordinator of a machine whose clock is off.
func wrongly(t *testing.T, client *goredis.Client, ns string, off time.Duration) *redis.Coordinator {
	t.Helper()
	return newCoordinator(t, client, ns, &redis.Options{SkewBound: wide, Clock: clocktest.NewManual(time.Now().Add(off))})
}

// wantSkew checks that a call was refused because of a clock.
func wantSkew(t *testing.T, what string, err error) {
	t.Helper()
	if _, ok := errors.AsType[*coord.ClockSkewError](err); !ok {
		t.Errorf("%s: %v; want %v", what, err, coord.ErrClockSkew)
	}
}

// TestWrongClockWithoutALoss: whose clock is wrong raises and lowers nothing, and whoever
// renews with such a clock pushes no window further than others do.
func TestWrongClockWithoutALoss(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	for _, off := range wrongClocks {
		t.Run(fmt.Sprint(off), func(t *testing.T) {
			ns := newNamespace(t, client, layout)
			g := mustAcquire(t, newCoordinator(t, client, ns, nil), request(1))
			c := wrongly(t, client, ns, off)
			meta := stored(t, client, ns, "meta")
			_, err := c.Quarantine(within(t), time.Time{})
			wantSkew(t, "Quarantine", err)
			_, err = c.Quarantine(within(t), time.Now().Add(time.Minute))
			wantSkew(t, "Quarantine for a minute", err)
			_, err = c.Lower(within(t))
			wantSkew(t, "Lower", err)
			if now := stored(t, client, ns, "meta"); now != meta {
				t.Errorf("the record of the namespace is %s; it was %s", now, meta)
			}
			until := tickNow() + redis.MaxHorizon.Milliseconds() + off.Milliseconds()
			h, err := c.Renew(within(t), g, until)
			if limit := tickNow() + redis.MaxHorizon.Milliseconds(); err != nil || h.NotAfter > limit || h.NotAfter < g.NotAfter {
				t.Errorf("Renew of %v until %d: %v, %v; want at most %d", g, until, h, err, limit)
			}
		})
	}
}

// TestWrongClockAtALoss: nobody waits for longer than MaxHorizon and the skew bound,
// whatever the clock of the holder says who shows that something was lost.
func TestWrongClockAtALoss(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	for _, off := range wrongClocks {
		t.Run(fmt.Sprint(off), func(t *testing.T) {
			ns := newNamespace(t, client, layout)
			right, c := newCoordinator(t, client, ns, nil), wrongly(t, client, ns, off)
			restore := backup(t, client, ns)
			g := mustAcquire(t, right, request(1))
			restore()
			least := tickNow() + quarantineTime.Milliseconds()
			if _, err := c.Renew(within(t), g, g.NotAfter+off.Milliseconds()); !errors.Is(err, coord.ErrQuarantined) {
				t.Errorf("Renew of what was lost: %v; want %v", err, coord.ErrQuarantined)
			}
			most := tickNow() + quarantineTime.Milliseconds()
			if h := mustAcquire(t, right, request(1)); h.NotBefore < least || h.NotBefore > most+1 {
				t.Errorf("%v was granted; want one that opens between %d and %d", h, least, most)
			}

			// With everything lost, only a process whose clock agrees with the server's has
			// the namespace made again.
			client.Del(within(t), slots(ns), leaseKey(ns, 0))
			_, err := c.Renew(within(t), g, g.NotAfter)
			wantSkew(t, "Renew with everything lost", err)
			if n, err := client.Exists(within(t), slots(ns)).Result(); err != nil || n != 0 {
				t.Errorf("a wrong clock has left %d namespaces, %v", n, err)
			}
			h := mustAcquire(t, newCoordinator(t, client, ns, nil), request(1))
			if most := tickNow() + quarantineTime.Milliseconds(); h.NotBefore > most+1 {
				t.Errorf("%v was granted; want one that opens at %d or before", h, most)
			}
		})
	}
}
