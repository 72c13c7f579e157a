//go:build unix

package redis_test

import (
	"crypto/rand"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// TestOperations: what operators do to a server under running holders, and what befalls it. None
// makes an ID twice, and service comes back by itself.
func TestOperations(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(t *testing.T, s *redistest.Server){
		"FLUSHALL": func(t *testing.T, s *redistest.Server) { t.Helper(); s.Do(t, "FLUSHALL") },
		"restart":  func(t *testing.T, s *redistest.Server) { t.Helper(); s.Kill(); s.Restart(t) },
		"SCRIPT FLUSH and CLIENT KILL": func(t *testing.T, s *redistest.Server) {
			t.Helper()
			s.Do(t, "SCRIPT", "FLUSH")
			s.Do(t, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
		},
		"CLIENT PAUSE": func(t *testing.T, s *redistest.Server) { t.Helper(); s.Do(t, "CLIENT", "PAUSE", 1500, "ALL") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Options{AppendOnly: true})
			ns := newNamespace(t, server.Client(t), layout)
			var streams []*stream
			for _, d := range []time.Duration{2, 1} {
				l := lease()
				l.Horizon /= d
				streams = append(streams, run(generate(t, leasing(t, server.Client(t), ns, l, redis.DefaultSkewBound), l)))
			}
			for _, s := range streams {
				s.more(t, 100)
			}
			do(t, server)
			stop(t, append(streams, run(generate(t, shortCoordinator(t, server.Client(t), ns), lease())))...)
		})
	}
}

// TestReshard: the slot of a Cluster that has a namespace moves while that is used. Nothing stops
// the move, since the namespace is one key; and then the node that has it is killed, and comes back.
func TestReshard(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, redistest.Options{AppendOnly: true, Silence: time.Second}, 3)
	ns := rand.Text()
	if err := newCoordinator(t, cluster.Client(t), ns, nil).Init(within(t), space()); err != nil {
		t.Fatal(err)
	}
	ids := run(generate(t, shortCoordinator(t, cluster.Client(t), ns), lease()))
	ids.more(t, 100)
	from, to := cluster.Of(t, redis.KeyOf(ns)), cluster.Nodes[0]
	if to == from {
		to = cluster.Nodes[1]
	}
	slot := from.Do(t, "CLUSTER", "KEYSLOT", redis.KeyOf(ns))
	to.Do(t, "CLUSTER", "SETSLOT", slot, "IMPORTING", from.Do(t, "CLUSTER", "MYID"))
	from.Do(t, "CLUSTER", "SETSLOT", slot, "MIGRATING", to.Do(t, "CLUSTER", "MYID"))
	host, port, _ := strings.Cut(to.Addr, ":")
	n, err := strconv.Atoi(slot)
	if err != nil {
		t.Fatal(err)
	}
	for {
		keys := from.Client(t).ClusterGetKeysInSlot(within(t), n, 100).Val()
		if len(keys) == 0 {
			break
		}
		for _, key := range keys {
			if said := from.Do(t, "MIGRATE", host, port, key, 0, 5000); said != "OK" {
				t.Fatalf("MIGRATE %s: %s", key, said)
			}
			ids.more(t, 200) // renewed at the other node, while the slot is still on its way
		}
	}
	for _, s := range []*redistest.Server{to, from} {
		s.Do(t, "CLUSTER", "SETSLOT", slot, "NODE", to.Do(t, "CLUSTER", "MYID"))
	}
	ids.more(t, 1000)
	to.Kill()
	to.Restart(t)
	cluster.Await(t)
	stop(t, ids, run(generate(t, shortCoordinator(t, cluster.Client(t), ns), lease())))
}
