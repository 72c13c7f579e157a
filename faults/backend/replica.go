package backend

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/unalike-id/unalike/faults/proxy"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// replica is a MariaDB server and one that gets what it writes, some time later. Clients know
// one address, which leads to the one that is written to.
type replica struct {
	mariadb
	nodes []*mysqltest.Server
	alone []*proxy.Proxy // before each of them
	// stale was the primary, and has to begin anew as the other one's replica. Nil: none has.
	stale *mysqltest.Server
}

func startReplica(tb testing.TB) Backend {
	tb.Helper()
	args := []string{"--log-bin", "--sync-binlog=1", "--log-slave-updates"}
	p := mysqltest.Start(tb, append(args, "--server-id=1")...)
	nodes := []*mysqltest.Server{p, p.Replica(tb, append(args, "--server-id=2")...)}
	b := &replica{mariadb: mariadb{newMariaDB("mariadb-replica", nodes...)}, nodes: nodes}
	b.proxy = proxy.Start(tb, p.Addr())
	for _, s := range nodes {
		b.alone = append(b.alone, proxy.Start(tb, s.Addr()))
	}
	b.where = func(tb testing.TB) (driver, source string) { tb.Helper(); return "mysql", b.primary(tb).DSN("") }
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
		b.settle(tb)
	}
	b.makeUser(tb)
	b.settle(tb)
	return b
}

// settle has the replica take no writes of clients, and clients go to the primary.
func (b *replica) settle(tb testing.TB) {
	tb.Helper()
	p := b.primary(tb)
	b.do(tb, b.other(p), "SET GLOBAL read_only = ON")
	b.proxy.Lead(p.Addr())
}

// Restore implements Backend: which server is the primary is part of the snapshot.
func (b *replica) Restore(tb testing.TB, snapshot string) {
	tb.Helper()
	b.stale = nil
	b.mariadb.Restore(tb, snapshot)
}

// Leader implements Elected.
func (b *replica) Leader(tb testing.TB) Server { tb.Helper(); return b.primary(tb) }

// primary returns the server that follows none, when there is one.
func (b *replica) primary(tb testing.TB) (p *mysqltest.Server) {
	tb.Helper()
	streamtest.Eventually(tb, "there is a primary", func() bool {
		for _, s := range b.nodes {
			if status, answers := b.status(tb, s); answers && status == nil {
				p = s
			}
		}
		return p != nil
	})
	return p
}

// other returns the server that s is not.
func (b *replica) other(s *mysqltest.Server) *mysqltest.Server {
	if s == b.nodes[0] {
		return b.nodes[1]
	}
	return b.nodes[0]
}

// status returns what a server says of its being a replica; nil: it is none.
func (b *replica) status(tb testing.TB, s *mysqltest.Server) (status map[string]string, answers bool) {
	tb.Helper()
	db, err := sql.Open("mysql", s.DSN("?timeout=5s"))
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(tb.Context(), 5*time.Second)
	defer cancel()
	rows, err := db.QueryContext(ctx, "SHOW SLAVE STATUS")
	if err != nil {
		return nil, false
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, false
	}
	for rows.Next() {
		values, into := make([]sql.NullString, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, false
		}
		status = map[string]string{}
		for i, name := range names {
			status[name] = values[i].String
		}
	}
	return status, rows.Err() == nil
}

// do makes statements at a server, and says returns the only value of a query.
func (b *replica) do(tb testing.TB, s *mysqltest.Server, statements ...string) {
	tb.Helper()
	at := database{common: b.common, where: func(testing.TB) (driver, source string) { return "mysql", s.DSN("") }}
	for _, statement := range statements {
		at.Exec(tb, statement)
	}
}

func (b *replica) says(tb testing.TB, s *mysqltest.Server, query string) string {
	tb.Helper()
	at := database{common: b.common, where: func(testing.TB) (driver, source string) { return "mysql", s.DSN("") }}
	return at.value(tb, query)
}

// Detach implements Replicated: the replica has all until now, and asks nobody for more.
func (b *replica) Detach(tb testing.TB) {
	tb.Helper()
	p := b.primary(tb)
	r := b.other(p)
	all := b.says(tb, p, "SELECT @@gtid_binlog_pos")
	if b.says(tb, r, "SELECT MASTER_GTID_WAIT('"+all+"', 30)") != "0" {
		tb.Fatal("the replica does not get what the primary has")
	}
	b.do(tb, r, "STOP SLAVE IO_THREAD")
	b.applied(tb, r)
}

// applied waits until a replica that gets no more has done what it has got.
func (b *replica) applied(tb testing.TB, r *mysqltest.Server) {
	tb.Helper()
	streamtest.Eventually(tb, "the replica has done what it has got", func() bool {
		status, answers := b.status(tb, r)
		return answers && status["Gtid_IO_Pos"] == b.says(tb, r, "SELECT @@gtid_slave_pos")
	})
}

// promote has a replica take writes, and clients go there.
func (b *replica) promote(tb testing.TB, r *mysqltest.Server) {
	tb.Helper()
	b.do(tb, r, "STOP SLAVE IO_THREAD")
	b.applied(tb, r)
	b.do(tb, r, "STOP SLAVE", "RESET SLAVE ALL", "SET GLOBAL read_only = OFF")
	b.proxy.Lead(r.Addr())
}

// Failover implements Replicated.
func (b *replica) Failover(tb testing.TB) {
	tb.Helper()
	p := b.primary(tb)
	p.Kill()
	b.stale = p
	b.promote(tb, b.other(p))
}

// SwitchOver implements Replicated. The old primary has to end for that.
func (b *replica) SwitchOver(tb testing.TB) {
	tb.Helper()
	b.Failover(tb)
	b.Restart(tb)
}

// Guard implements Divided: a commit is confirmed when the replica has it, and waits for that
// for longer than a scenario lasts.
func (b *replica) Guard(tb testing.TB) {
	tb.Helper()
	p := b.primary(tb)
	b.do(tb, b.other(p), "SET GLOBAL rpl_semi_sync_slave_enabled = ON", "STOP SLAVE IO_THREAD", "START SLAVE IO_THREAD")
	b.do(tb, p, "SET GLOBAL rpl_semi_sync_master_wait_point = AFTER_SYNC", "SET GLOBAL rpl_semi_sync_master_timeout = 3600000", "SET GLOBAL rpl_semi_sync_master_enabled = ON")
	streamtest.Eventually(tb, "commits wait for the replica", func() bool {
		return b.says(tb, p, "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'RPL_SEMI_SYNC_MASTER_CLIENTS'") == "1"
	})
}

// Addrs implements Divided.
func (b *replica) Addrs(tb testing.TB) (primary, replica string) {
	tb.Helper()
	if b.primary(tb) == b.nodes[0] {
		return b.alone[0].Addrs()[0], b.alone[1].Addrs()[0]
	}
	return b.alone[1].Addrs()[0], b.alone[0].Addrs()[0]
}

// Split implements Divided.
func (b *replica) Split(tb testing.TB) {
	tb.Helper()
	r := b.other(b.primary(tb))
	b.Detach(tb)
	b.promote(tb, r)
}
