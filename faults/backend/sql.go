package backend

import (
	"database/sql"
	"net/url"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql" // the clients
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// place is where somebody with all rights reaches a database.
type place struct{ driver, source string }

// open returns a new connection: an earlier one may be of a server that has ended.
func (p place) open(tb testing.TB) *sql.DB {
	tb.Helper()
	db, err := sql.Open(p.driver, p.source)
	if err != nil {
		tb.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	return db
}

// exec makes statements one after the other, and returns how many rows the last one has changed.
func (p place) exec(tb testing.TB, statements ...string) int {
	tb.Helper()
	db := p.open(tb)
	defer db.Close()
	var rows int64
	for _, statement := range statements {
		result, err := db.ExecContext(streamtest.Within(tb), statement)
		if err != nil {
			tb.Fatalf("%s: %v", statement, err)
		}
		rows, _ = result.RowsAffected() // who wants to know has a statement that says it
	}
	return int(rows)
}

// says returns the only value of a query; empty: the server does not answer.
func (p place) says(tb testing.TB, query string) (v string) {
	tb.Helper()
	db := p.open(tb)
	defer db.Close()
	_ = db.QueryRowContext(streamtest.Within(tb), query).Scan(&v) // no answer says nothing
	return v
}

// await waits until a query has a value.
func (p place) await(tb testing.TB, query, want string) {
	tb.Helper()
	streamtest.Eventually(tb, query+" is "+want, func() bool { return p.says(tb, query) == want })
}

// lock locks all rows, until the function is called that it returns.
func (p place) lock(tb testing.TB) (unlock func()) {
	tb.Helper()
	db := p.open(tb)
	tb.Cleanup(func() { _ = db.Close() })
	tx, err := db.BeginTx(tb.Context(), nil)
	if err != nil {
		tb.Fatal(err)
	}
	for _, table := range []string{"namespaces", "slots"} {
		if _, err := tx.ExecContext(streamtest.Within(tb), "SELECT 1 FROM unalike_"+table+
			" FOR UPDATE"); err != nil {
			tb.Fatal(err)
		}
	}
	return func() {
		if err := tx.Rollback(); err != nil {
			tb.Fatal(err)
		}
	}
}

// newSQL is what back ends with tables have in common. A statement ends the connections of all
// clients.
func newSQL(p place, disconnect string) *Backend {
	lose := func(name string, statements ...string) Loss {
		return Loss{name, func(tb testing.TB) { tb.Helper(); p.exec(tb, statements...) }}
	}
	return &Backend{
		call: []byte("unalike_"),
		Exec: func(tb testing.TB, statements ...string) { tb.Helper(); p.exec(tb, statements...) },
		Lock: p.lock,
		// The server does not tie leases to connections, so that both are ended.
		EndLeases: func(tb testing.TB) int {
			tb.Helper()
			n := p.exec(tb, "UPDATE unalike_slots SET lease_ends = 0 WHERE token IS NOT NULL AND "+
				"lease_ends > 0")
			p.exec(tb, disconnect)
			return n
		},
		Loses: []Loss{
			lose("TRUNCATE", "TRUNCATE TABLE unalike_slots"),
			lose("DROP", "DROP VIEW unalike_workers",
				"DROP TABLE unalike_format, unalike_slots, unalike_namespaces"),
		},
	}
}

// pgPlace is where a PostgreSQL server is, for the Go driver.
func pgPlace(s *pgtest.Server) place {
	return place{"pgx", s.URL() + "?default_query_exec_mode=exec"}
}

// newPostgres is PostgreSQL. The servers run without fsync: what they have written survives their
// end, and not that of the machine.
func newPostgres(tb testing.TB, nodes ...*pgtest.Server) *Backend {
	tb.Helper()
	b := newSQL(pgPlace(nodes[0]), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "+
		"backend_type = 'client backend' AND pid <> pg_backend_pid()")
	for _, s := range nodes {
		b.Servers, b.dirs = append(b.Servers, s), append(b.dirs, s.Dir)
		b.Way = append(b.Way, StartWay(tb, "127.0.0.1:"+s.Port)...)
	}
	b.url = func(o url.Values) string {
		o.Set("accept", "fsync")
		return "postgres://postgres@" + strings.Join(b.Way.Addrs(), ",") + "/postgres" + query(o)
	}
	return b
}

// startPostgres is one server.
func startPostgres(tb testing.TB) *Backend { tb.Helper(); return newPostgres(tb, pgtest.Start(tb)) }

// startStandby is a server and one that gets what it writes, some time later. Clients know both,
// and use the one that can be written to.
func startStandby(tb testing.TB) *Backend {
	tb.Helper()
	primary := pgtest.Start(tb)
	standby := primary.Standby(tb)
	b, old, next := newPostgres(tb, primary, standby), pgPlace(primary), pgPlace(standby)
	b.Detach = func(tb testing.TB) {
		tb.Helper()
		old.await(tb, "SELECT bool_and(replay_lsn >= pg_current_wal_flush_lsn())::text FROM "+
			"pg_stat_replication", "true")
		next.exec(tb, "ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()")
		next.await(tb, "SELECT COUNT(*)::text FROM pg_stat_wal_receiver", "0")
	}
	b.Promote = func(tb testing.TB) {
		tb.Helper()
		primary.Kill()
		next.exec(tb, "SELECT pg_promote()")
		next.await(tb, "SELECT pg_is_in_recovery()::text", "false")
	}
	return b
}

// Of the user of all clients, who has no more rights than that user needs: somebody with all of
// them may also write to a server that is read only.
const clientName, clientPassword = "faults", "pw"

// newMariaDB is MariaDB, one server, and maybe a replica.
func newMariaDB(tb testing.TB, nodes ...*mysqltest.Server) *Backend {
	tb.Helper()
	p := place{"mysql", nodes[0].DSN("")}
	b := newSQL(p, "KILL USER "+clientName)
	for _, s := range nodes {
		b.Servers, b.dirs = append(b.Servers, s), append(b.dirs, s.Dir)
	}
	b.Way = StartWay(tb, nodes[0].Addr())
	p.exec(tb, "CREATE USER "+clientName+" IDENTIFIED BY '"+clientPassword+"'",
		"GRANT ALL ON "+mysqltest.Database+".* TO "+clientName)
	b.url = func(o url.Values) string {
		return "mysql://" + clientName + ":" + clientPassword + "@" + b.Way.Addrs()[0] + "/" +
			mysqltest.Database + query(o)
	}
	b.Fill = func(tb testing.TB) { tb.Helper(); p.exec(tb, "SET GLOBAL read_only = ON") }
	b.Drain = func(tb testing.TB) { tb.Helper(); p.exec(tb, "SET GLOBAL read_only = OFF") }
	return b
}

// logged are the arguments of a server of a kind that could have replicas.
func logged(id string) []string {
	return []string{"--log-bin", "--sync-binlog=1", "--log-slave-updates", "--server-id=" + id}
}

// startMariaDB is one server.
func startMariaDB(tb testing.TB) *Backend {
	tb.Helper()
	return newMariaDB(tb, mysqltest.Start(tb, logged("1")...))
}

// startReplica is a server and one that gets what it writes, some time later. Clients know one
// address, which leads to the one that is written to.
func startReplica(tb testing.TB) *Backend {
	tb.Helper()
	primary := mysqltest.Start(tb, logged("1")...)
	replica := primary.Replica(tb, logged("2")...)
	b := newMariaDB(tb, primary, replica)
	old, next := place{"mysql", primary.DSN("")}, place{"mysql", replica.DSN("")}
	next.exec(tb, "SET GLOBAL read_only = ON")
	b.Detach = func(tb testing.TB) {
		tb.Helper()
		next.await(tb, "SELECT MASTER_GTID_WAIT('"+old.says(tb, "SELECT @@gtid_binlog_pos")+"', 30)", "0")
		next.exec(tb, "STOP SLAVE")
	}
	b.Promote = func(tb testing.TB) {
		tb.Helper()
		primary.Kill()
		next.exec(tb, "RESET SLAVE ALL", "SET GLOBAL read_only = OFF")
		b.Way[0].Lead(replica.Addr())
	}
	return b
}
