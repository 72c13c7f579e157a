package mysql

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/leaktest"
	"github.com/unalike-id/unalike/internal/sqldb/mysqldb"
	"github.com/unalike-id/unalike/internal/sqlstore"
	"github.com/unalike-id/unalike/internal/sqlstore/sqltest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
)

func TestMain(m *testing.M) {
	_ = mysql.SetLogger(&mysql.NopLogger{})
	leaktest.Main(m)
}

// newPool returns a pool that ends with the test.
func newPool(tb testing.TB, dsn string, conns int) *sql.DB {
	tb.Helper()
	pool, err := sql.Open("mysql", dsn)
	if err != nil {
		tb.Fatal(err)
	}
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	return drivertest.Closing(tb, pool, nil)
}

// several is the parameter of a DSN that the driver needs.
const several = "?multiStatements=true"

// database connects to a server, with more parameters.
func database(tb testing.TB, s *mysqltest.Server, params string) *sqltest.Database {
	tb.Helper()
	pool := newPool(tb, s.DSN(several+params), 16)
	return &sqltest.Database{
		DB:      mysqldb.Of(pool, s.Addr()),
		Dialect: dialect(),
		Hand:    sqltest.Hand{TB: tb, SQL: newPool(tb, s.DSN(""), 0)},
		Waiting: "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE" +
			" VARIABLE_NAME = 'INNODB_ROW_LOCK_CURRENT_WAITS'",
		Next: "NEXTVAL(%s)",
	}
}

// as has a database used by somebody else.
func as(tb testing.TB, user string, s *mysqltest.Server, d *sqltest.Database) sqltest.Database {
	tb.Helper()
	other := *d
	pool := newPool(tb, user+"@tcp("+s.Addr()+")/unalike"+several, 16)
	other.DB = mysqldb.Of(pool, s.Addr())
	return other
}

// TestStore holds the store to its interface.
func TestStore(t *testing.T) {
	t.Parallel()
	sqltest.Store(t, database(t, mysqltest.Start(t, "--log-bin", "--sync-binlog=1"), ""))
}

// TestConformance holds the coordinator to its interface.
func TestConformance(t *testing.T) {
	t.Parallel()
	sqltest.Conformance(t, database(t, mysqltest.Start(t), ""))
}

// TestWire: a transaction is one round trip, a client whose last packet is lost leaves nothing
// locked, and a change whose connection breaks is not sent again.
func TestWire(t *testing.T) {
	s := mysqltest.Start(t)
	d := database(t, s, "")
	sqltest.Wired(t, d, s.Addr(), connect(s))
}

// connect makes a pool of connections to an address that leads to a server.
func connect(s *mysqltest.Server) func(testing.TB, string, int) sqlstore.Database {
	return func(tb testing.TB, addr string, conns int) sqlstore.Database {
		tb.Helper()
		return mysqldb.Of(newPool(tb, strings.Replace(s.DSN(several), s.Addr(), addr, 1), conns), "")
	}
}

// TestDeleted: a namespace that was deleted begins with a floor.
func TestDeleted(t *testing.T) {
	t.Parallel()
	sqltest.Deleted(t, database(t, mysqltest.Start(t), ""))
}

// TestCutOff: a namespace is deleted while a holder is cut off, and no ID comes twice.
func TestCutOff(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t, "--max-connections=400")
	sqltest.CutOff(t, database(t, s, ""), s.Addr(), connect(s))
}

// TestSQL runs the tests of stores in SQL databases.
func TestSQL(t *testing.T) { sqltest.Run(t, database(t, mysqltest.Start(t), "")) }

// TestHeld: no floor is raised while a statement that has read it is under way, whatever the
// isolation level.
func TestHeld(t *testing.T) {
	s := mysqltest.Start(t)
	for _, level := range []string{
		"READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ",
		"SERIALIZABLE",
	} {
		t.Run(level, func(t *testing.T) {
			sqltest.Held(t, database(t, s, "&tx_isolation=%27"+level+"%27"))
		})
	}
}

// TestRaces: dead locks, waits that last too long and rows that have changed are tried again.
func TestRaces(t *testing.T) {
	s := mysqltest.Start(t)
	for _, number := range []string{"1213", "1205", "1020"} {
		d := database(t, s, "")
		d.Do("DROP TRIGGER IF EXISTS race", "DROP SEQUENCE IF EXISTS races")
		sqltest.Races(d, "CREATE TRIGGER race BEFORE UPDATE ON unalike_slots FOR EACH ROW"+
			" IF NEW.version <> OLD.version THEN IF NEXTVAL(races) % 3 <> 0 THEN"+
			" SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = "+number+"; END IF; END IF")
	}
}
