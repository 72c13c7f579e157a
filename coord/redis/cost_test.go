package redis_test

import (
	"crypto/rand"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// TestCost: an acquisition takes three calls, however many worker IDs are held; what a holder asks
// for is one each.
func TestCost(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	calls := counted(t, server)
	c := newCoordinator(t, calls.client, newNamespace(t, server.Client(t), layout))
	// lasting has a lease that is still there when a slow machine has made a thousand more.
	lasting := func() coord.Request {
		r := request(capacity)
		r.TTL = 2 * timeout
		return r
	}
	for range 1000 {
		mustAcquire(t, c, lasting())
	}
	var g coord.Grant
	var err error
	for _, step := range []struct {
		what string
		want int
		call func()
	}{
		{"Acquire", 3, func() { g = mustAcquire(t, c, lasting()) }},
		{"Renew", 1, func() { g, err = c.Renew(within(t), g, g.NotAfter+1) }},
		{"Resume", 1, func() { g, err = c.Resume(within(t), g, rand.Text(), g.NotAfter+1) }},
		{"Release", 1, func() { err = c.Release(within(t), g, g.NotBefore) }},
	} {
		calls.steps = 0
		if step.call(); err != nil || calls.steps != step.want {
			t.Errorf("%s made %d calls; want %d; %v", step.what, calls.steps, step.want, err)
		}
	}
}
