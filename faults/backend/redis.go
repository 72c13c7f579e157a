package backend

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/redistest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

const (
	// silence is how long it takes until a server is taken for dead, by a Sentinel or by others of
	// a Cluster.
	silence = 2 * time.Second
	// detached is silence before a replica is promoted by hand: that is done only if it has been
	// without a primary for less than ten times as long.
	detached = time.Hour
)

// newRedis is what a single Redis, one with a Sentinel and a Cluster have in common. They keep
// every write on disk.
func newRedis(tb testing.TB, nodes ...*redistest.Server) *Backend {
	tb.Helper()
	all := func(command ...any) func() {
		return func() {
			for _, s := range nodes {
				s.Do(tb, command...)
			}
		}
	}
	b := &Backend{
		call: []byte("eval"),
		Faults: []Fault{{
			noSpace,
			all("CONFIG", "SET", "maxmemory", "1"), all("CONFIG", "SET", "maxmemory", "0"),
		}},
		Losses: []Loss{{Name: "FLUSHALL", Do: all("FLUSHALL")}},
	}
	for _, s := range nodes {
		b.Servers, b.dirs = append(b.Servers, s), append(b.dirs, s.Dir)
	}
	return b
}

// startRedis is one Redis.
func startRedis(tb testing.TB) *Backend {
	tb.Helper()
	s := redistest.Start(tb, redistest.Options{AppendOnly: true})
	b := newRedis(tb, s)
	b.Way = StartWay(tb, s.Addr)
	b.url = func(o url.Values) string { return "redis://" + b.Way.Addrs()[0] + query(o) }
	// Most of what may be evicted goes at once.
	b.Losses = append(b.Losses, Loss{Name: "eviction", Do: func() {
		s.Do(tb, "CONFIG", "SET", "maxmemory-policy", "allkeys-random", "maxmemory", "1")
		streamtest.Eventually(tb, "the server has evicted all", func() bool {
			return s.Do(tb, "DBSIZE") == "0"
		})
		s.Do(tb, "CONFIG", "SET", "maxmemory", "0", "maxmemory-policy", "noeviction")
	}})
	return b
}

// startCluster is a Redis Cluster of masters without replicas. Nodes tell clients the addresses
// of the proxy, and reach each other over their bus without it.
func startCluster(tb testing.TB) *Backend {
	tb.Helper()
	const nodes = 3
	front := map[string]Way{} // by the address of the node; a start that fails has left some
	c := redistest.StartCluster(tb, redistest.Options{
		AppendOnly: true, Silence: silence,
		Announce: func(tb testing.TB, addr string) string {
			tb.Helper()
			front[addr] = StartWay(tb, addr)
			return front[addr][0].Addr
		},
	}, nodes)
	b := newRedis(tb, c.Nodes...)
	for _, s := range c.Nodes {
		b.Way = append(b.Way, front[s.Addr]...)
	}
	b.formed = func() { c.Await(tb) }
	b.url = func(o url.Values) string {
		return "redis-cluster://" + strings.Join(b.Way.Addrs(), ",") + query(o)
	}
	return b
}

// startSentinel is a primary and a replica, and a Sentinel that looks after them. Clients learn
// the address of the primary from the Sentinel, which must be the one at which the Sentinel and
// the replica reach it themselves. So there is no proxy.
func startSentinel(tb testing.TB) *Backend {
	tb.Helper()
	r := redistest.StartReplicated(tb, redistest.Options{AppendOnly: true, Silence: silence})
	b := newRedis(tb, r.Primary, r.Replica)
	b.url = func(o url.Values) string {
		return "redis-sentinel://" + r.Sentinel + "/" + redistest.MasterName + query(o)
	}
	control := redistest.Connect(tb, r.Sentinel, "")
	setSilence := func(d time.Duration) {
		if err := control.Do(streamtest.Within(tb), "SENTINEL", "SET", redistest.MasterName,
			"down-after-milliseconds", d.Milliseconds()).Err(); err != nil {
			tb.Fatal(err)
		}
	}
	// The deletion of all data is refused by a replica.
	b.Losses = []Loss{{Name: "a replica without the last writes is promoted", Keep: func() {
		setSilence(detached)
		r.Primary.Do(tb, "ACL", "SETUSER", "default", "-psync", "-sync")
		r.Primary.Do(tb, "CLIENT", "KILL", "TYPE", "replica")
		streamtest.Eventually(tb, "the replica has no primary", func() bool {
			return strings.Contains(r.Replica.Do(tb, "INFO", "replication"), "master_link_status:down")
		})
	}, Do: func() {
		r.Primary.Kill()
		streamtest.Eventually(tb, "the replica is promoted, and the Sentinel names it", func() bool {
			// It refuses while a failover is under way.
			_ = control.Do(streamtest.Within(tb), "SENTINEL", "FAILOVER", redistest.MasterName).Err()
			at, err := control.Do(streamtest.Within(tb), "SENTINEL", "GET-MASTER-ADDR-BY-NAME",
				redistest.MasterName).StringSlice()
			return err == nil && strings.Join(at, ":") == r.Replica.Addr &&
				strings.Contains(r.Replica.Do(tb, "INFO", "replication"), "role:master")
		})
		setSilence(silence)
		r.Primary.FollowFromStart(tb, r.Replica)
	}}}
	return b
}
