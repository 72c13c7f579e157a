package redis_test

import (
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// history is the name of the history of a server's data.
func history(t *testing.T, s *redistest.Server) string {
	t.Helper()
	_, after, _ := strings.Cut(s.Do(t, "INFO", "replication"), "master_replid:")
	name, _, _ := strings.Cut(after, "\r")
	return name
}

// renamed does something that gives a server's history a new name, and waits until it has
// one.
func renamed(t *testing.T, s *redistest.Server, do func()) {
	t.Helper()
	before := history(t, s)
	do()
	eventually(t, "the history has a new name", func() bool { return history(t, s) != before })
}

// saveRDB makes a backup as operators do.
func saveRDB(t *testing.T, s *redistest.Server) {
	t.Helper()
	proctest.Need(t, "redis-tools", "redis-cli")
	host, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("redis-cli", "-h", host, "-p", port, "--rdb",
		t.TempDir()+"/backup.rdb").CombinedOutput(); err != nil {
		t.Fatalf("redis-cli --rdb: %v\n%s", err, out)
	}
}

// TestBackupIsNoLoss: a master gets its first replica, or a backup is made over the
// network, or its last replica has been away for long. Its history has another name each
// time, and nothing was lost.
func TestBackupIsNoLoss(t *testing.T) {
	t.Parallel()
	p := newPairApart(t)
	client := p.a.Client(t)
	ns := newNamespace(t, client, layout)
	c := newCoordinator(t, client, ns)
	g := mustAcquire(t, c, request(1))
	freed := func() { p.a.Do(t, "CONFIG", "SET", "repl-backlog-ttl", 1) }
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"a backup", func() { saveRDB(t, p.a) }},
		{"an hour after it", freed},
		{"the first replica", func() {
			p.a.Do(t, "CONFIG", "SET", "repl-backlog-ttl", 0)
			follow(t, p.b, p.a.Addr)
		}},
		{"an hour without a replica", func() { p.b.Do(t, "REPLICAOF", "NO", "ONE"); freed() }},
		{"another backup", func() { saveRDB(t, p.a) }},
	} {
		renamed(t, p.a, step.do)
		h, err := c.Renew(within(t), g, g.NotAfter+100)
		if err != nil || h.NotBefore != g.NotBefore || h.NotAfter != g.NotAfter+100 {
			t.Fatalf("Renew after %s: %v, %v; nothing was lost", step.name, h, err)
		}
		g = h
		if m := metaOf(t, client, ns); m.Loss.Nonce != "" || m.Floor != 0 {
			t.Errorf("after %s there is a loss on record: %+v", step.name, m)
		}
		if origin := client.HGet(within(t), redis.KeyOf(ns), "origin").Val(); !strings.Contains(origin,
			" "+history(t, p.a)+" ") {
			t.Errorf("after %s the namespace has %s; want the new name of its history, %s", step.name,
				origin, history(t, p.a))
		}
	}
}

// TestFailoverIsALoss: what looks like a first replica or a backup, after a failover, is
// none: the server has taken over the data of another one in between.
func TestFailoverIsALoss(t *testing.T) {
	t.Parallel()
	// forget lets a server forget the name of the history before its own.
	forget := func(t *testing.T, s *redistest.Server) {
		t.Helper()
		renamed(t, s, func() { s.Do(t, "CONFIG", "SET", "repl-backlog-ttl", 1) })
		if info := s.Do(t, "INFO", "replication"); !strings.Contains(info,
			"master_replid2:"+strings.Repeat("0", 40)) {
			t.Fatalf("it has not forgotten it: %s", info)
		}
	}
	for _, steps := range []string{
		"over", "over, forgets", "over, forgets, resets", "over, back",
		"over, back, resets", "over, back, alone, forgets",
	} {
		t.Run(steps, func(t *testing.T) {
			t.Parallel()
			p := newPair(t)
			ns := newNamespace(t, p.client(t), layout)
			// No process may know what was lost: the server has to notice.
			mustAcquire(t, newCoordinator(t, p.client(t), ns), request(capacity))
			p.synced(t)
			p.link.Hang()
			lost := mustAcquire(t, newCoordinator(t, p.client(t), ns), request(capacity))
			for step := range strings.SplitSeq(steps, ", ") {
				switch step {
				case "over":
					p.promote(t, p.b)
				case "back":
					follow(t, p.a, p.b.Addr)
					p.promote(t, p.a)
				case "alone": // so that A is without a replica
					p.b.Do(t, "REPLICAOF", "NO", "ONE")
				case "forgets":
					forget(t, p.active.Load())
				case "resets": // its statistics
					p.active.Load().Do(t, "CONFIG", "RESETSTAT")
				}
			}
			least := tickNow()
			client := p.client(t)
			g := mustAcquire(t, newCoordinator(t, client, ns), request(capacity))
			if m := metaOf(t, client, ns); m.Loss.Nonce == "" || m.Floor < least || g.NotBefore < m.Floor {
				safetytest.Of(t).Errorf("%v was lost in a failover; then %v was granted in %+v", lost, g, m)
			}
		})
	}
}
