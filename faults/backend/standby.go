package backend

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/unalike-id/unalike/faults/proxy"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// standby is a PostgreSQL server and one that gets what it writes, some time later. Clients
// know both, and use the one that can be written to.
type standby struct {
	postgres
	nodes []*pgtest.Server
	// stale was the primary, and has to begin anew as the other one's standby. Nil: none has.
	stale *pgtest.Server
}

func startStandby(tb testing.TB) Backend {
	tb.Helper()
	p := pgtest.Start(tb)
	nodes := []*pgtest.Server{p, p.Standby(tb)}
	b := &standby{postgres: postgres{newPostgres("postgres-standby", nodes...)}, nodes: nodes}
	b.proxy = proxy.Start(tb, "127.0.0.1:"+nodes[0].Port, "127.0.0.1:"+nodes[1].Port)
	b.where = func(tb testing.TB) (driver, source string) { return "pgx", byHand(b.primary(tb)) }
	b.restart = func(tb testing.TB) {
		tb.Helper()
		for _, s := range b.nodes {
			if s != b.stale {
				restartEnded(tb, s)
			}
		}
		if b.stale != nil {
			b.stale.Follow(tb, b.other(b.stale))
			b.stale = nil
		}
	}
	return b
}

// Restore implements Backend: which server is the primary is part of the snapshot.
func (b *standby) Restore(tb testing.TB, snapshot string) {
	tb.Helper()
	b.stale = nil
	b.postgres.Restore(tb, snapshot)
}

// Leader implements Elected.
func (b *standby) Leader(tb testing.TB) Server { tb.Helper(); return b.primary(tb) }

// primary returns the server that can be written to, when there is one.
func (b *standby) primary(tb testing.TB) (p *pgtest.Server) {
	tb.Helper()
	streamtest.Eventually(tb, "there is a primary", func() bool {
		for _, s := range b.nodes {
			if says(tb, s, "SELECT pg_is_in_recovery()::text") == "false" {
				p = s
			}
		}
		return p != nil
	})
	return p
}

// other returns the server that s is not.
func (b *standby) other(s *pgtest.Server) *pgtest.Server {
	if s == b.nodes[0] {
		return b.nodes[1]
	}
	return b.nodes[0]
}

// says returns the only value of a query at a server; empty: it does not answer.
func says(tb testing.TB, s *pgtest.Server, query string) (v string) {
	tb.Helper()
	db, err := sql.Open("pgx", byHand(s))
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(tb.Context(), 5*time.Second)
	defer cancel()
	_ = db.QueryRowContext(ctx, query).Scan(&v) // no answer says nothing
	return v
}

// Detach implements Replicated: the standby has all until now, and asks nobody for more.
func (b *standby) Detach(tb testing.TB) {
	tb.Helper()
	p := b.primary(tb)
	s := b.other(p)
	streamtest.Eventually(tb, "the standby has all", func() bool {
		return says(tb, p, "SELECT bool_and(replay_lsn >= pg_current_wal_flush_lsn())::text FROM pg_stat_replication") == "true"
	})
	says(tb, s, "ALTER SYSTEM SET primary_conninfo = ''")
	says(tb, s, "SELECT pg_reload_conf()::text")
	streamtest.Eventually(tb, "the standby gets nothing", func() bool {
		return says(tb, s, "SELECT COUNT(*)::text FROM pg_stat_wal_receiver") == "0"
	})
}

// Failover implements Replicated.
func (b *standby) Failover(tb testing.TB) {
	tb.Helper()
	p := b.primary(tb)
	p.Kill()
	b.stale = p
	says(tb, b.other(p), "SELECT pg_promote()::text")
	if b.primary(tb) == p {
		tb.Fatal("the old primary is the primary after a failover")
	}
}

// SwitchOver implements Replicated. The old primary has to end for that.
func (b *standby) SwitchOver(tb testing.TB) {
	tb.Helper()
	b.Failover(tb)
	b.Restart(tb)
}

// Guard implements Divided.
func (b *standby) Guard(tb testing.TB) {
	tb.Helper()
	b.Exec(tb, "ALTER SYSTEM SET synchronous_standby_names = '*'")
	b.Exec(tb, "SELECT pg_reload_conf()")
	p := b.primary(tb)
	streamtest.Eventually(tb, "commits wait for the standby", func() bool {
		return says(tb, p, "SELECT MAX(sync_state) FROM pg_stat_replication") == "sync"
	})
}

// Addrs implements Divided.
func (b *standby) Addrs(tb testing.TB) (primary, replica string) {
	tb.Helper()
	all := b.proxy.Addrs()
	if b.primary(tb) == b.nodes[0] {
		return all[0], all[1]
	}
	return all[1], all[0]
}

// Split implements Divided.
func (b *standby) Split(tb testing.TB) {
	tb.Helper()
	s := b.other(b.primary(tb))
	b.Detach(tb)
	if says(tb, s, "SELECT pg_promote()::text") != "true" {
		tb.Fatal("the standby was not promoted")
	}
}
