package redis_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// trips counts the calls that a client makes.
type trips struct{ n atomic.Int64 }

func (*trips) DialHook(next goredis.DialHook) goredis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (c *trips) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		c.n.Add(1)
		return next(ctx, cmd)
	}
}

func (c *trips) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		c.n.Add(1)
		return next(ctx, cmds)
	}
}

// work returns how many commands the server has run so far, in scripts and outside.
func work(tb testing.TB, client *goredis.Client) int {
	tb.Helper()
	info, err := client.Info(within(tb), "commandstats").Result()
	if err != nil {
		tb.Fatal(err)
	}
	n := 0
	for line := range strings.SplitSeq(info, "\n") {
		if _, after, ok := strings.Cut(line, ":calls="); ok {
			var calls int
			if _, err := fmt.Sscanf(after, "%d,", &calls); err != nil {
				tb.Fatal(err)
			}
			n += calls
		}
	}
	return n
}

// lasting is request with a lease that is still there when a slow machine has made a
// thousand more.
func lasting(n int) coord.Request {
	r := request(n)
	r.TTL = 2 * patience
	return r
}

// fill lets n worker IDs be held.
func fill(tb testing.TB, c *redis.Coordinator, n int) []coord.Grant {
	tb.Helper()
	grants := make([]coord.Grant, n)
	for i := range grants {
		grants[i] = mustAcquire(tb, c, lasting(capacity))
	}
	return grants
}

// TestCostOfAcquire: an acquisition is one call, and the server's work for it does not
// grow with how many worker IDs are held, nor when their leases have ended.
func TestCostOfAcquire(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := server.Client(t)
	ns := newNamespace(t, client, layout)
	c := newCoordinator(t, client, ns, nil)
	fill(t, c, 1) // makes connections and indexes, and the scripts known
	count := new(trips)
	client.AddHook(count)
	cost := func() (calls, commands int) {
		before := work(t, client)
		n := count.n.Load()
		mustAcquire(t, c, lasting(capacity))
		return int(count.n.Load() - n), work(t, client) - before
	}
	calls, few := cost()
	if calls != 1 {
		t.Errorf("Acquire with 2 held made %d calls; want 1", calls)
	}
	fill(t, c, 1000)
	calls, many := cost()
	if calls != 1 || many > few {
		t.Errorf("Acquire with 1002 held made %d calls and took the server %d commands; with 2 held it took %d", calls, many, few)
	}
	t.Logf("commands in the server for one acquisition: %d with 2 held, %d with 1002 held", few, many)

	fill(t, c, capacity-1003)
	for id := range capacity {
		endLease(t, client, ns, id)
	}
	before := work(t, client)
	for range 100 {
		mustAcquire(t, c, lasting(capacity))
	}
	each := (work(t, client) - before) / 100
	t.Logf("commands in the server for one acquisition after 1024 crashes: %d", each)
	// An acquisition looks at 16 leases that have ended and files them, with 4 commands
	// each.
	if each > few+16*4+10 {
		t.Errorf("after 1024 crashes an acquisition takes the server %d commands on average; with nobody there it took %d", each, few)
	}
}

// TestCostInShare: the same in a datacenter's share, with the others full.
func TestCostInShare(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := server.Client(t)
	c := newCoordinator(t, client, newNamespace(t, client, layout), nil)
	for range 1000 {
		mustAcquire(t, c, lasting(1000))
	}
	share := func() coord.Request {
		r := lasting(0)
		r.Workers = coord.Range{First: 990, Count: 30}
		return r
	}
	mustAcquire(t, c, share()) // makes the share's indexes
	before := work(t, client)
	g := mustAcquire(t, c, share())
	if n := work(t, client) - before; n > 40 {
		t.Errorf("an acquisition in a share, with 1001 worker IDs held, took the server %d commands", n)
	}
	if g.WorkerID < 1000 || g.WorkerID >= 1020 {
		t.Errorf("%v was granted; the share has 1000 to 1019 free", g)
	}
	for range 18 {
		mustAcquire(t, c, share())
	}
	_, err := c.Acquire(within(t), share())
	var full *coord.NoWorkerIDError
	if !errors.As(err, &full) || full.Capacity != 30 || full.InUse != 30 {
		t.Errorf("the 31st of a share of 30: %v", err)
	}
	// Who asks for all sees what the share has taken.
	for range capacity - 1020 {
		if g := mustAcquire(t, c, lasting(capacity)); g.WorkerID < 1020 {
			t.Fatalf("%v was granted; it is held", g)
		}
	}
}

// TestManyShares: indexes are made anew for a share that has lost its own to others.
func TestManyShares(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := server.Client(t)
	c := newCoordinator(t, client, newNamespace(t, client, layout), nil)
	for round := range 2 {
		for i := range 40 {
			r := lasting(0)
			r.Workers = coord.Range{First: 2 * i, Count: 2}
			if g := mustAcquire(t, c, r); g.WorkerID != 2*i+round {
				t.Fatalf("%v was granted in the share %v", g, r.Workers)
			}
		}
	}
	keys, err := client.DBSize(within(t)).Result()
	if err != nil || keys > 1+80+2*32 {
		t.Errorf("%d keys for 80 leases and 40 shares (%v); at most 32 shares have indexes", keys, err)
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

// BenchmarkAcquire compares an acquisition in a namespace with nobody and with 1000
// holders, and with the obvious way to find a free worker ID, which tries one after
// the other.
func BenchmarkAcquire(b *testing.B) {
	server := redistest.Start(b, redistest.Options{})
	client := server.Client(b)
	for _, holders := range []int{0, 1000} {
		c := newCoordinator(b, client, newNamespace(b, client, layout), nil)
		fill(b, c, holders)
		b.Run(fmt.Sprintf("held=%d", holders), func(b *testing.B) {
			var times []time.Duration
			for b.Loop() {
				began := time.Now()
				g := mustAcquire(b, c, request(capacity))
				times = append(times, time.Since(began))
				b.StopTimer()
				if err := c.Release(within(b), g, g.NotBefore); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-us")
		})
	}
	for id := range 1000 {
		client.Set(within(b), fmt.Sprintf("naive:%d", id), "x", 0)
	}
	b.Run("SET_NX_loop/held=1000", func(b *testing.B) {
		for b.Loop() {
			for id := range capacity {
				if client.SetArgs(within(b), fmt.Sprintf("naive:%d", id), "x", goredis.SetArgs{Mode: "NX"}).Err() == nil {
					client.Del(within(b), fmt.Sprintf("naive:%d", id))
					break
				}
			}
		}
	})
}
