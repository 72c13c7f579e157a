package redis_test

import (
	"crypto/rand"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// lasting is request with a lease that is still there when a slow machine has made a
// thousand more.
func lasting(n int) coord.Request {
	r := request(n)
	r.TTL = 2 * patience
	return r
}

// TestCost: an acquisition takes three calls, however many worker IDs are held; what a holder asks
// for is one each.
func TestCost(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	i := interrupted(t, server)
	c := newCoordinator(t, i.client, newNamespace(t, server.Client(t), layout), nil)
	mustAcquire(t, c, lasting(capacity)) // the server knows the script, and the coordinator the time
	var g coord.Grant
	var err error
	for _, held := range []int{1, 1000} {
		for n := 1; n < held; n++ {
			mustAcquire(t, c, lasting(capacity))
		}
		for _, step := range []struct {
			what string
			want int
			call func()
		}{
			{"Acquire", 3, func() { g = mustAcquire(t, c, lasting(capacity)) }},
			{"Renew", 1, func() { g, err = c.Renew(within(t), g, g.NotAfter+1) }},
			{"Resume", 1, func() { g, err = c.Resume(within(t), g, rand.Text(), g.NotAfter+1) }},
			{"Release", 1, func() { err = c.Release(within(t), g, g.NotBefore) }},
		} {
			n := 0
			i.before(0, "", func() { n++ })
			step.call()
			if i.before(0, "", nil); err != nil || n != step.want {
				t.Errorf("%s with %d held made %d calls; want %d; %v", step.what, held, n, step.want, err)
			}
		}
	}
}

// TestStarters: 1024 at once are granted 1024 worker IDs, and the next one is told
// when to come back.
func TestStarters(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	crowd := drivertest.Crowd[*redis.Coordinator]{Namespace: newNamespace(t, server.Client(t), layout)}
	for range 16 {
		crowd.Members = append(crowd.Members, newCoordinator(t, server.Client(t), crowd.Namespace, nil))
	}
	crowd.Starters(t)
}
