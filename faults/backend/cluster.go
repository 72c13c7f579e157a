package backend

import (
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/proxy"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

const (
	clusterNodes   = 3
	clusterSilence = 2 * time.Second // until a node takes another one for dead
)

// cluster is a Redis Cluster of masters without replicas. Nodes tell clients the addresses
// of the proxy, and reach each other over their bus without it.
type cluster struct {
	redis
	nodes *redistest.Cluster
}

func startCluster(tb testing.TB) Backend {
	tb.Helper()
	front := map[string]*proxy.Proxy{} // by the address of the node; a start that fails has left some
	c := redistest.StartCluster(tb, redistest.Options{
		AppendOnly: true, Silence: clusterSilence,
		Announce: func(tb testing.TB, addr string) string {
			tb.Helper()
			front[addr] = proxy.Start(tb, addr)
			return front[addr].Addrs()[0]
		},
	}, clusterNodes)
	b := &cluster{newRedis("cluster", c.Nodes...), c}
	var gates []*proxy.Proxy
	for _, s := range c.Nodes {
		gates = append(gates, front[s.Addr])
	}
	b.proxy = proxy.Join(gates...)
	b.restart = func(tb testing.TB) {
		tb.Helper()
		for _, s := range c.Nodes {
			restartEnded(tb, s)
		}
		c.Await(tb)
	}
	Declare(tb, b, core.DefaultLayout())
	return b
}

// URL implements Backend.
func (b *cluster) URL(options ...string) string {
	return "redis-cluster://" + strings.Join(b.proxy.Addrs(), ",") + newSettings(options).query()
}

// Owner implements Sharded.
func (b *cluster) Owner(tb testing.TB, namespace string) Server {
	tb.Helper()
	return b.nodes.Nodes[b.owner(tb, namespace)]
}

// Migrate implements Sharded.
func (b *cluster) Migrate(tb testing.TB, namespace string) {
	tb.Helper()
	i := b.owner(tb, namespace)
	from, to := b.nodes.Nodes[i], b.nodes.Nodes[(i+1)%clusterNodes]
	fromID, toID := from.Do(tb, "CLUSTER", "MYID"), to.Do(tb, "CLUSTER", "MYID")
	slot := b.slot(tb, namespace)
	to.Do(tb, "CLUSTER", "SETSLOT", slot, "IMPORTING", fromID)
	from.Do(tb, "CLUSTER", "SETSLOT", slot, "MIGRATING", toID)
	host, port, _ := strings.Cut(to.Addr, ":")
	client := from.Client(tb)
	for {
		keys, err := client.ClusterGetKeysInSlot(streamtest.Within(tb), int(slot), 100).Result()
		if err != nil {
			tb.Fatal(err)
		}
		if len(keys) == 0 {
			break
		}
		command := []any{"MIGRATE", host, port, "", 0, streamtest.CallTime.Milliseconds(), "KEYS"}
		for _, k := range keys {
			command = append(command, k)
		}
		from.Do(tb, command...)
	}
	for _, s := range []*redistest.Server{to, from, b.nodes.Nodes[(i+2)%clusterNodes]} {
		s.Do(tb, "CLUSTER", "SETSLOT", slot, "NODE", toID)
	}
}

// slot returns the hash slot of a namespace.
func (b *cluster) slot(tb testing.TB, namespace string) int64 {
	tb.Helper()
	slot, err := b.nodes.Nodes[0].Client(tb).ClusterKeySlot(streamtest.Within(tb), namespace).Result()
	if err != nil {
		tb.Fatal(err)
	}
	return slot
}

// owner returns which node has a namespace.
func (b *cluster) owner(tb testing.TB, namespace string) int {
	tb.Helper()
	slot := b.slot(tb, namespace)
	shards, err := b.nodes.Nodes[0].Client(tb).ClusterShards(streamtest.Within(tb)).Result()
	if err != nil {
		tb.Fatal(err)
	}
	for _, shard := range shards {
		has := func(r goredis.SlotRange) bool { return r.Start <= slot && slot <= r.End }
		if !slices.ContainsFunc(shard.Slots, has) || len(shard.Nodes) == 0 {
			continue
		}
		for i, s := range b.nodes.Nodes {
			if s.Do(tb, "CLUSTER", "MYID") == shard.Nodes[0].ID {
				return i
			}
		}
	}
	tb.Fatalf("no node has slot %d: %v", slot, shards)
	return 0
}
