package etcd_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/etcd"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// callCounter counts the calls that a client makes, tries of its own among them.
type callCounter struct {
	mu    sync.Mutex
	calls []string
}

func (c *callCounter) options() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			c.add(method)
			return invoke(ctx, method, req, reply, cc, opts...)
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			c.add(method)
			return stream(ctx, desc, cc, method, opts...)
		}),
	}
}

func (c *callCounter) add(method string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, method[strings.LastIndexByte(method, '/')+1:])
}

// take returns the calls since it was last asked.
func (c *callCounter) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.calls
	c.calls = nil
	return calls
}

// TestRoundTrips counts the calls of an acquisition, with nothing held and with
// nearly everything held, with and without an identity that had a worker ID before.
func TestRoundTrips(t *testing.T) {
	server := etcdtest.Start(t)
	counter := new(callCounter)
	counted := server.Client(t, counter.options()...)
	others := server.Client(t)
	for _, held := range []int{0, 1000} {
		ns := rand.Text()
		crowd := newCoordinator(t, others, ns, nil)
		(&drivertest.Crowd[*etcd.Coordinator]{Members: []*etcd.Coordinator{crowd}}).Acquire(t, held, 32)
		c := newCoordinator(t, counted, ns, nil)
		expect := func(what string, most int, req coord.Request) coord.Grant {
			t.Helper()
			counter.take()
			g, err := c.Acquire(within(t), req)
			if err != nil {
				t.Fatal(err)
			}
			calls := counter.take()
			t.Logf("%d held, %s: %v", held, what, calls)
			if len(calls) > most {
				t.Errorf("%d held, %s: %d calls, %v; at most %d are allowed", held, what, len(calls), calls, most)
			}
			return g
		}
		req := request(capacity)
		req.Identity = "pod-a"
		first := expect("first", 4, req)
		if err := c.Release(within(t), first, first.NotBefore); err != nil {
			t.Fatal(err)
		}
		for _, what := range []string{"same identity after a release", "same identity again"} {
			req = request(capacity)
			req.Identity = "pod-a"
			again := expect(what, 4, req)
			if again.WorkerID != first.WorkerID {
				t.Errorf("the identity had worker ID %d and got %d", first.WorkerID, again.WorkerID)
			}
			again, err := c.Renew(within(t), again, again.NotAfter+1000)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Release(within(t), again, again.NotBefore); err != nil {
				t.Fatal(err)
			}
		}
		expect("without an identity", 4, request(capacity))
		expect("again", 4, request(capacity))
	}
}

// TestHintAfterCrash: an identity gets its last worker ID back, and the rest of its window,
// even if nobody released it.
func TestHintAfterCrash(t *testing.T) {
	server := etcdtest.Start(t)
	counter := new(callCounter)
	ns := rand.Text()
	c := newCoordinator(t, server.Client(t, counter.options()...), ns, nil)
	req := request(capacity)
	req.Identity = "pod-a"
	g := mustAcquire(t, c, req)
	g, err := c.Renew(within(t), g, g.NotAfter+1000)
	if err != nil {
		t.Fatal(err)
	}
	endLease(t, server.Client(t), ns, g.WorkerID)
	req = request(capacity)
	req.Identity, req.OpenBy = "pod-a", g.NotAfter
	counter.take()
	h := mustAcquire(t, c, req)
	if calls := counter.take(); len(calls) > 4 || h.WorkerID != g.WorkerID || h.NotBefore != g.NotAfter {
		t.Errorf("%v had %v and got %v with the calls %v; want the same worker ID, with 4 calls", req.Identity, g, h, calls)
	}
}

// TestContention: of many who want a few worker IDs, as many get one as there are.
func TestContention(t *testing.T) {
	server := etcdtest.Start(t)
	drivertest.Contention(t, newCoordinator(t, server.Client(t), rand.Text(), nil))
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

// stored returns the value of a key; empty if there is none.
func stored(tb testing.TB, client *clientv3.Client, key string) string {
	tb.Helper()
	resp, err := client.Get(within(tb), key)
	if err != nil {
		tb.Fatal(err)
	}
	if len(resp.Kvs) == 0 {
		return ""
	}
	return string(resp.Kvs[0].Value)
}
