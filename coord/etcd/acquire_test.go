package etcd_test

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/etcd"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// callCounter keeps the names of the calls that a client makes, tries of its own among them.
type callCounter struct {
	mu    sync.Mutex
	calls []string
}

func (c *callCounter) option() grpc.DialOption {
	return intercept(func(_ context.Context, method string, _ any, call func() error) error {
		c.mu.Lock()
		c.calls = append(c.calls, method)
		c.mu.Unlock()
		return call()
	})
}

// take returns the calls since it was last asked.
func (c *callCounter) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() { c.calls = nil }()
	return slices.Clone(c.calls)
}

// TestRoundTrips: an acquisition makes at most four calls, with nothing held and with nearly
// everything held, and gives an identity its last worker ID back, also after a crash.
func TestRoundTrips(t *testing.T) {
	server := etcdtest.Start(t)
	counter := new(callCounter)
	counted := server.Client(t, counter.option())
	for _, held := range []int{0, 1000} {
		ns := rand.Text()
		crowd := newCoordinator(t, server.Client(t), ns, nil)
		(&drivertest.Crowd[*etcd.Coordinator]{Members: []*etcd.Coordinator{crowd}}).Acquire(t, held, 32)
		c := newCoordinator(t, counted, ns, nil)
		acquire := func(identity string, openBy int64) coord.Grant {
			t.Helper()
			req := request(capacity)
			req.Identity, req.OpenBy = identity, max(req.OpenBy, openBy)
			counter.take()
			g := mustAcquire(t, c, req)
			if calls := counter.take(); len(calls) > 4 {
				t.Errorf("%d held, and %q acquires with %d calls: %v", held, identity, len(calls), calls)
			}
			return g
		}
		acquire("", 0)
		first := acquire("pod-a", 0)
		if err := c.Release(within(t), first, first.NotBefore); err != nil {
			t.Fatal(err)
		}
		again := renewed(t, c, acquire("pod-a", 0), 1)
		endLease(t, server.Client(t), ns, again.WorkerID)
		last := acquire("pod-a", again.NotAfter)
		if again.WorkerID != first.WorkerID || last.WorkerID != first.WorkerID || last.NotBefore != again.NotAfter {
			t.Errorf("an identity had %v, after a release %v, and after a crash %v", first, again, last)
		}
	}
}

// TestStarters: 1024 holders start at once on 1024 worker IDs. They are goroutines of
// one process, on 16 connections: to etcd, a process is a connection and a token.
func TestStarters(t *testing.T) {
	server := etcdtest.Start(t)
	crowd := drivertest.Crowd[*etcd.Coordinator]{
		Namespace: rand.Text(),
		// An etcd that is too busy says so, and what it says of the holders' clocks is late.
		Again: func(err error) bool { return !coord.Permanent(err) || errors.Is(err, coord.ErrClockSkew) },
	}
	for range 16 {
		crowd.Members = append(crowd.Members, newCoordinator(t, server.Client(t), crowd.Namespace, nil))
	}
	crowd.Starters(t)
}

// TestAttemptsGoOn: what an acquisition has reached is kept for the next one with the same
// token: its ticket, and its lease.
func TestAttemptsGoOn(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	for n := 2; n <= 4; n++ {
		i := newInterrupted(t, server)
		if err := i.Init(within(t), space()); err != nil {
			t.Fatal(err)
		}
		leases := func() int {
			resp, err := i.client.Leases(within(t))
			if err != nil {
				t.Fatal(err)
			}
			return len(resp.Leases)
		}
		before, req := leases(), request(capacity)
		acted := i.before(n, func() { i.down = true })
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if g, err := i.Acquire(ctx, req); err == nil || !acted() {
			t.Fatalf("Acquire that fails with call %d: %v", n, g)
		}
		i.setDown(false)
		mustAcquire(t, i.Coordinator, req)
		resp, err := i.client.Get(within(t), "/unalike/"+i.ns+"/ticket")
		if err != nil {
			t.Fatal(err)
		}
		if tickets, made := resp.Kvs[0].Version, leases()-before; tickets != 1 || made != 1 {
			t.Errorf("Acquire failed with call %d, and was made again: %d tickets and %d leases; want one each", n, tickets, made)
		}
	}
}
