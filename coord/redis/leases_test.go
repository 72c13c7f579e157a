package redis_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// TestLeaseKeys: the lease of a worker ID is a key with a TTL, that of a retired one a key without.
// Each says whose it is.
func TestLeaseKeys(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	ns := newNamespace(t, client, layout)
	c := newCoordinator(t, client, ns)
	req := request(8)
	req.Holder = "web-1:4711"
	g := mustAcquire(t, c, req)
	retired := (g.WorkerID + 1) % 8
	if err := c.Retire(within(t), retired); err != nil {
		t.Fatal(err)
	}
	lease := func(worker int) (time.Duration, string) {
		key := redis.LeaseOf(ns, worker)
		return client.PTTL(within(t), key).Val(), client.Get(within(t), key).Val()
	}
	live := func(what string) {
		left, value := lease(g.WorkerID)
		if left <= 0 || left > req.TTL || !strings.HasPrefix(value, "web-1:4711 since 20") {
			t.Errorf("%s: it lasts for %v and is %q", what, left, value)
		}
	}
	live("granted")
	if left, value := lease(retired); left != -1 || value != "retired" {
		t.Errorf("retired: it lasts for %v and is %q", left, value)
	}
	client.PExpire(within(t), redis.LeaseOf(ns, g.WorkerID), time.Hour)
	g, err := c.Renew(within(t), g, g.NotAfter)
	if err != nil {
		t.Fatal(err)
	}
	live("renewed")
	if err := c.Release(within(t), g, g.NotBefore); err != nil {
		t.Fatal(err)
	}
	if left, value := lease(g.WorkerID); left != -2 || value != "" {
		t.Errorf("released: it lasts for %v and is %q", left, value)
	}
}

// TestLeaseKeyEvicted: a server that is short of memory deletes the key of a lease. What its holder
// had is granted to nobody else. A lease that the hint does not know is found.
func TestLeaseKeyEvicted(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	ns := newNamespace(t, client, layout)
	c, other := newCoordinator(t, client, ns), newCoordinator(t, client, ns)
	g := mustAcquire(t, c, request(1))
	config := func(name, value string) {
		if err := client.ConfigSet(within(t), name, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	config("maxmemory-policy", "volatile-lru")
	config("maxmemory", "1")
	err := client.Set(within(t), "other", "x", 0).Err()
	config("maxmemory", "0")
	if n := client.Exists(within(t), redis.LeaseOf(ns, 0)).Val(); n != 0 {
		t.Fatalf("the lease was not evicted (%v)", err)
	}
	client.HDel(within(t), redis.KeyOf(ns), "l:0")
	h := mustAcquire(t, other, request(1))
	if h.NotBefore < g.NotAfter {
		safetytest.Of(t).Errorf("%v was granted, and then %v", g, h)
	}
	if _, err := c.Renew(within(t), g, g.NotAfter); !errors.Is(err, coord.ErrLeaseLost) {
		t.Errorf("Renew: %v; want that the lease is lost", err)
	}
	client.HDel(within(t), redis.KeyOf(ns), "l:0")
	if _, err := c.Acquire(within(t), request(1)); !errors.Is(err, coord.ErrNoWorkerID) {
		t.Errorf("a lease without a hint: %v; want that all are held", err)
	}
}

// TestLeaseKey_MadeByHand: the holder is gone, and an operator has changed the key of its lease.
// The key keeps the worker ID from others. They try again soon, because the operator may delete it.
func TestLeaseKey_MadeByHand(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	for name, change := range map[string]func(lease string) error{
		"persist": func(lease string) error { return client.Persist(within(t), lease).Err() },
		"a year": func(lease string) error {
			return client.Expire(within(t), lease, 365*24*time.Hour).Err()
		},
		"another type": func(lease string) error {
			client.Del(within(t), lease)
			return client.RPush(within(t), lease, "x").Err()
		},
	} {
		ns := newNamespace(t, client, layout)
		mustAcquire(t, newCoordinator(t, client, ns), request(1))
		if err := change(redis.LeaseOf(ns, 0)); err != nil {
			t.Fatal(err)
		}
		client.HDel(within(t), redis.KeyOf(ns), "l:0") // as if the TTL were over
		_, err := newCoordinator(t, client, ns).Acquire(within(t), request(1))
		full, ok := errors.AsType[*coord.NoWorkerIDError](err)
		if !ok || full.Capacity != 1 || full.Soonest.IsZero() ||
			full.Soonest.After(time.Now().Add(time.Minute)) {
			t.Errorf("%s: %v; want that the worker ID is held, and may be free in a minute", name, err)
		}
	}
}

// TestFullShare: who finds all worker IDs of the largest share held is told so, and when the next
// lease ends.
func TestFullShare(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	for _, share := range []int{1 << 13, redis.MaxShare} {
		ns := rand.Text()
		c := newCoordinator(t, client, ns)
		space := space()
		space.Capacity = share
		if err := c.Init(within(t), space); err != nil {
			t.Fatal(err)
		}
		req := request(share)
		req.Capacity = share
		g := mustAcquire(t, c, req)
		slot := client.HGet(within(t), redis.KeyOf(ns), fmt.Sprint(g.WorkerID)).Val()
		ends := clock.System().UnixMicro() + time.Hour.Microseconds()
		page := strings.Repeat(fmt.Sprint(ends), 16)
		pipe := client.Pipeline()
		for worker := range share {
			record := strings.Replace(slot, fmt.Sprintf(`"worker":%d,`, g.WorkerID),
				fmt.Sprintf(`"worker":%d,`, worker), 1)
			pipe.HSet(within(t), redis.KeyOf(ns), fmt.Sprint(worker), record)
			if worker%16 == 0 {
				pipe.HSet(within(t), redis.KeyOf(ns), fmt.Sprintf("l:%d", worker/16), page)
			}
		}
		if _, err := pipe.Exec(within(t)); err != nil {
			t.Fatal(err)
		}
		next := req
		next.Token = rand.Text()
		began := time.Now()
		_, err := newCoordinator(t, client, ns).Acquire(within(t), next)
		full, ok := errors.AsType[*coord.NoWorkerIDError](err)
		if !ok || full.InUse != share || full.Soonest.IsZero() {
			t.Errorf("all of %d are held: %v; want that, and when the next lease ends", share, err)
		}
		t.Logf("all of %d are held: said after %v", share, time.Since(began))
	}
}

// TestAcquire_SlotMoves: while the slot of a namespace moves to another node of a Cluster, an
// acquisition waits until the keys are together again.
func TestAcquire_SlotMoves(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, redistest.Options{}, 2).Nodes
	client := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{nodes[0].Addr}})
	t.Cleanup(func() { _ = client.Close() })
	ns := newNamespace(t, client, layout)
	from, to := nodes[0], nodes[1]
	slot := client.ClusterKeySlot(within(t), redis.KeyOf(ns)).Val()
	if slot >= 1<<13 { // of 2^14
		from, to = to, from
	}
	to.Do(t, "CLUSTER", "SETSLOT", slot, "IMPORTING", from.Do(t, "CLUSTER", "MYID"))
	from.Do(t, "CLUSTER", "SETSLOT", slot, "MIGRATING", to.Do(t, "CLUSTER", "MYID"))
	done := make(chan error, 1)
	go func() {
		_, err := newCoordinator(t, client, ns).Acquire(within(t), request(1))
		done <- err
	}()
	eventually(t, "a step waits", func() bool {
		return strings.Contains(from.Do(t, "INFO", "errorstats"), "errorstat_TRYAGAIN")
	})
	from.Do(t, "CLUSTER", "SETSLOT", slot, "STABLE")
	to.Do(t, "CLUSTER", "SETSLOT", slot, "STABLE")
	if err := <-done; err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
