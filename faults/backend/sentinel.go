package backend

import (
	"context"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

const (
	// primarySilence is how long the Sentinel waits for a primary. It waits up to 1 s before
	// it connects to one again, and must not take that for the primary's silence.
	primarySilence = 2 * time.Second
	// detachedSilence is primarySilence between Detach and a promotion: a replica is promoted
	// only if it has been without a primary for less than ten times as long.
	detachedSilence = time.Hour
)

// sentinel is a primary and a replica, and a Sentinel that looks after them. Clients learn
// the address of the primary from the Sentinel, which must be the one at which the Sentinel
// and the replica reach it themselves. So there is no proxy for clients alone.
type sentinel struct {
	redis
	servers *redistest.Replicated
	control *goredis.Client // of the Sentinel
}

func startSentinel(tb testing.TB) Backend {
	tb.Helper()
	r := redistest.StartReplicated(tb, redistest.Options{AppendOnly: true, Silence: primarySilence})
	b := &sentinel{newRedis("sentinel", r.Primary, r.Replica), r, redistest.Connect(tb, r.Sentinel, "")}
	Declare(tb, b, core.DefaultLayout())
	return b
}

// URL implements Backend.
func (b *sentinel) URL(options ...string) string {
	return "redis-sentinel://" + b.servers.Sentinel + "/" + redistest.MasterName + newSettings(options).query()
}

// Leader implements Elected.
func (b *sentinel) Leader(tb testing.TB) Server { tb.Helper(); return b.primary(tb) }

// primary returns the server that the Sentinel names, when that is a primary.
func (b *sentinel) primary(tb testing.TB) (s *redistest.Server) {
	tb.Helper()
	streamtest.Eventually(tb, "there is a primary", func() bool {
		s = b.named(tb)
		return s != nil && role(tb, s) == "master"
	})
	return s
}

// named returns the server that the Sentinel calls the primary; nil: it does not answer.
func (b *sentinel) named(tb testing.TB) *redistest.Server {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Second)
	defer cancel()
	at, err := b.control.Do(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", redistest.MasterName).StringSlice()
	if err != nil || len(at) != 2 {
		return nil
	}
	for _, s := range b.nodes {
		if s.Addr == at[0]+":"+at[1] {
			return s
		}
	}
	return nil
}

// other returns the server that s is not.
func (b *sentinel) other(s *redistest.Server) *redistest.Server {
	if s == b.nodes[0] {
		return b.nodes[1]
	}
	return b.nodes[0]
}

// Detach implements Replicated. The primary refuses the replica from now on.
func (b *sentinel) Detach(tb testing.TB) {
	tb.Helper()
	// The Sentinel is not to intervene: neither for the replica, nor for a primary that
	// takes long to answer.
	b.sentinel(tb, "SET", redistest.MasterName, "down-after-milliseconds", detachedSilence.Milliseconds())
	p := b.primary(tb)
	p.Do(tb, "ACL", "SETUSER", "default", "-psync", "-sync")
	p.Do(tb, "CLIENT", "KILL", "TYPE", "replica")
	streamtest.Eventually(tb, "the replica has no primary", func() bool {
		return strings.Contains(b.other(p).Do(tb, "INFO", "replication"), "master_link_status:down")
	})
}

// Failover implements Replicated.
func (b *sentinel) Failover(tb testing.TB) {
	tb.Helper()
	p := b.primary(tb)
	p.Kill()
	b.promote(tb, b.other(p))
	p.FollowFromStart(tb, b.other(p))
}

// SwitchOver implements Replicated.
func (b *sentinel) SwitchOver(tb testing.TB) {
	tb.Helper()
	p := b.primary(tb)
	b.promote(tb, b.other(p))
	// The Sentinel would have it follow after some ten seconds.
	host, port, _ := strings.Cut(b.other(p).Addr, ":")
	p.Do(tb, "REPLICAOF", host, port)
	p.Do(tb, "ACL", "SETUSER", "default", "allcommands") // see Detach
	p.Do(tb, "CONFIG", "REWRITE")
	redistest.AwaitLink(tb, p)
}

// promote makes a replica the primary.
func (b *sentinel) promote(tb testing.TB, s *redistest.Server) {
	tb.Helper()
	streamtest.Eventually(tb, "the Sentinel begins a failover", func() bool {
		ctx, cancel := context.WithTimeout(tb.Context(), time.Second)
		defer cancel()
		// It refuses while one is under way, which it may have begun by itself.
		_ = b.control.Do(ctx, "SENTINEL", "FAILOVER", redistest.MasterName).Err()
		return role(tb, s) == "master"
	})
	streamtest.Eventually(tb, "the Sentinel names the one that was promoted", func() bool { return b.named(tb) == s })
	b.sentinel(tb, "SET", redistest.MasterName, "down-after-milliseconds", primarySilence.Milliseconds())
}

// sentinel has the Sentinel carry out a command.
func (b *sentinel) sentinel(tb testing.TB, command ...any) {
	tb.Helper()
	if err := b.control.Do(streamtest.Within(tb), append([]any{"SENTINEL"}, command...)...).Err(); err != nil {
		tb.Fatalf("SENTINEL %v: %v", command, err)
	}
}

// role returns what a server says that it is: master or slave; empty: it does not answer.
func role(tb testing.TB, s *redistest.Server) string {
	tb.Helper()
	c := s.Client(tb)
	defer c.Close()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Second)
	defer cancel()
	info, _ := c.Info(ctx, "replication").Result() // no answer has no role
	_, after, _ := strings.Cut(info, "role:")
	name, _, _ := strings.Cut(after, "\r")
	return name
}
