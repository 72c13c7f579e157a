package etcd_test

import (
	"context"
	"crypto/rand"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// TestRoundTrips: an acquisition makes at most four calls, with nothing held and with many worker
// IDs held.
func TestRoundTrips(t *testing.T) {
	server := etcdtest.Start(t)
	var calls atomic.Int32
	counted := server.Client(t, intercept(func(_ context.Context, _ string, _ any,
		call func() error,
	) error {
		calls.Add(1)
		return call()
	}))
	for _, held := range []int{0, 200} {
		ns := rand.Text()
		crowd := newCoordinator(t, server.Client(t), ns)
		if err := crowd.Init(within(t), space()); err != nil {
			t.Fatal(err)
		}
		(&drivertest.Crowd[protocol.Full]{
			Members: []protocol.Full{crowd},
			Again:   func(err error) bool { return !coord.Permanent(err) }, // as a keeper does
		}).Acquire(t, held, 32)
		c := newCoordinator(t, counted, ns)
		calls.Store(0)
		if mustAcquire(t, c, request(capacity)); calls.Load() > 4 {
			t.Errorf("with %d held, an acquisition makes %d calls", held, calls.Load())
		}
	}
}

// TestAttemptsGoOn: what an acquisition has reached is kept for the next one with the same
// token: its ticket, and its lease.
func TestAttemptsGoOn(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	client := server.Client(t)
	for n := int32(2); n <= 4; n++ {
		var left atomic.Int32 // calls that are answered
		ns := rand.Text()
		c := newCoordinator(t, server.Client(t, intercept(func(_ context.Context, _ string, _ any,
			call func() error,
		) error {
			if left.Add(-1) < 0 {
				return status.Error(codes.Unavailable, "down")
			}
			return call()
		})), ns)
		left.Store(math.MaxInt32)
		if err := c.Init(within(t), space()); err != nil {
			t.Fatal(err)
		}
		leases := func() int {
			resp, err := client.Leases(within(t))
			if err != nil {
				t.Fatal(err)
			}
			return len(resp.Leases)
		}
		before, req := leases(), request(capacity)
		left.Store(n - 1)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if g, err := c.Acquire(ctx, req); err == nil {
			t.Fatalf("Acquire that fails with call %d: %v", n, g)
		}
		left.Store(math.MaxInt32)
		mustAcquire(t, c, req)
		resp, err := client.Get(within(t), "/unalike/"+ns+"/ticket")
		if err != nil {
			t.Fatal(err)
		}
		if tickets, made := resp.Kvs[0].Version, leases()-before; tickets != 1 || made != 1 {
			t.Errorf("Acquire failed with call %d, and was made again: %d tickets and %d leases; "+
				"want one each", n, tickets, made)
		}
	}
}
