package backend

import (
	"database/sql"
	"net/url"
	"testing"

	_ "github.com/go-sql-driver/mysql" // the clients
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// place is where somebody with all rights reaches a database.
type place struct {
	tb             testing.TB
	driver, source string
}

// open returns a new connection: an earlier one may be of a server that has ended.
func (p place) open() *sql.DB {
	db, err := sql.Open(p.driver, p.source)
	if err != nil {
		p.tb.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	return db
}

// exec makes statements one after the other, and returns how many rows the last one has changed.
func (p place) exec(statements ...string) int {
	db := p.open()
	defer db.Close()
	var rows int64
	for _, statement := range statements {
		result, err := db.ExecContext(streamtest.Within(p.tb), statement)
		if err != nil {
			p.tb.Fatalf("%s: %v", statement, err)
		}
		rows, _ = result.RowsAffected() // who wants to know has a statement that says it
	}
	return int(rows)
}

// locks are locks on all rows.
func (p place) locks() Fault {
	var db *sql.DB
	return Fault{AllRows, func() {
		db = p.open()
		for _, statement := range []string{
			"BEGIN", "SELECT 1 FROM unalike_namespaces FOR UPDATE",
			"SELECT 1 FROM unalike_slots FOR UPDATE",
		} {
			if _, err := db.ExecContext(streamtest.Within(p.tb), statement); err != nil {
				p.tb.Fatalf("%s: %v", statement, err)
			}
		}
	}, func() { _ = db.Close() }} // which ends the transaction
}

// newSQL is what back ends with tables have in common: one server at an address, with its data in a
// folder. A statement ends the connections of all clients.
func newSQL(p place, s Server, addr, dir, disconnect string) *Backend {
	lose := func(name string, statements ...string) Loss {
		return Loss{Name: name, Do: func() { p.exec(statements...) }}
	}
	return &Backend{
		Way: StartWay(p.tb, addr), Servers: []Server{s}, dirs: []string{dir},
		call:   []byte("unalike_"),
		Exec:   func(statements ...string) { p.exec(statements...) },
		Faults: []Fault{p.locks()},
		// The server does not tie leases to connections, so that both are ended.
		EndLeases: func() int {
			n := p.exec("UPDATE unalike_slots SET lease_ends = 0 WHERE token IS NOT NULL AND " +
				"lease_ends > 0")
			p.exec(disconnect)
			return n
		},
		Losses: []Loss{
			lose("TRUNCATE", "TRUNCATE TABLE unalike_slots"),
			lose("DROP", "DROP VIEW unalike_workers",
				"DROP TABLE unalike_history, unalike_slots, unalike_namespaces"),
		},
	}
}

// startPostgres is PostgreSQL. The server runs without fsync: what it has written survives its end,
// and not that of the machine.
func startPostgres(tb testing.TB) *Backend {
	tb.Helper()
	s := pgtest.Start(tb)
	b := newSQL(place{tb, "pgx", s.URL() + "?default_query_exec_mode=exec"}, s, "127.0.0.1:"+s.Port,
		s.Dir, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "+
			"backend_type = 'client backend' AND pid <> pg_backend_pid()")
	b.url = func(o url.Values) string {
		o.Set("accept", "fsync")
		return "postgres://postgres@" + b.Way.Addrs()[0] + "/postgres" + query(o)
	}
	return b
}

// Of the user of all clients, who has no more rights than that user needs: somebody with all of
// them may also write to a server that is read only.
const clientName, clientPassword = "faults", "pw"

// startMariaDB is MariaDB, of a kind that could have replicas.
func startMariaDB(tb testing.TB) *Backend {
	tb.Helper()
	s := mysqltest.Start(tb, "--log-bin", "--sync-binlog=1", "--log-slave-updates", "--server-id=1")
	p := place{tb, "mysql", s.DSN("")}
	b := newSQL(p, s, s.Addr(), s.Dir, "KILL USER "+clientName)
	p.exec("CREATE USER "+clientName+" IDENTIFIED BY '"+clientPassword+"'",
		"GRANT ALL ON "+mysqltest.Database+".* TO "+clientName)
	b.url = func(o url.Values) string {
		return "mysql://" + clientName + ":" + clientPassword + "@" + b.Way.Addrs()[0] + "/" +
			mysqltest.Database + query(o)
	}
	b.Faults = append(b.Faults, Fault{
		noSpace,
		func() { p.exec("SET GLOBAL read_only = ON") }, func() { p.exec("SET GLOBAL read_only = OFF") },
	})
	return b
}
