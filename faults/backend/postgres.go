package backend

import (
	"strings"
	"testing"

	"github.com/unalike-id/unalike/faults/proxy"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// postgres is PostgreSQL: one server, or one and its standby.
type postgres struct{ database }

func startPostgres(tb testing.TB) Backend {
	tb.Helper()
	s := pgtest.Start(tb)
	b := &postgres{newPostgres("postgres", s)}
	b.proxy = proxy.Start(tb, "127.0.0.1:"+s.Port)
	b.where = func(testing.TB) (driver, source string) { return "pgx", byHand(s) }
	return b
}

func newPostgres(name string, servers ...*pgtest.Server) database {
	d := database{common: common{name: name, call: tablesPrefix}}
	for _, s := range servers {
		d.servers, d.dirs = append(d.servers, s), append(d.dirs, s.Dir)
	}
	d.disconnect = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
	return d
}

// byHand is where a server is, for the Go driver.
func byHand(s *pgtest.Server) string { return s.URL() + "?default_query_exec_mode=exec" }

// URL implements Backend. The servers run without fsync: what they have written survives
// their end, and not that of the machine.
func (b *postgres) URL(options ...string) string {
	s := newSettings(options)
	s.usual("accept", "fsync")
	return "postgres://postgres@" + strings.Join(b.proxy.Addrs(), ",") + "/postgres" + s.query()
}

// Fill implements Filler as hosts of databases do when a disk is full: new connections may
// only read, and there are no others.
func (b *postgres) Fill(tb testing.TB) {
	tb.Helper()
	b.Exec(tb, "ALTER SYSTEM SET default_transaction_read_only = on")
	b.reload(tb, "on")
	b.Exec(tb, b.disconnect)
}

// Drain implements Filler.
func (b *postgres) Drain(tb testing.TB) {
	tb.Helper()
	b.Exec(tb, "ALTER SYSTEM RESET default_transaction_read_only")
	b.reload(tb, "off")
}

// reload has the server read its settings, and waits until new connections have them.
func (b *postgres) reload(tb testing.TB, readOnly string) {
	tb.Helper()
	b.Exec(tb, "SELECT pg_reload_conf()")
	streamtest.Eventually(tb, "new connections have the new settings", func() bool {
		return b.value(tb, "SHOW default_transaction_read_only") == readOnly
	})
}
