package mysql

import (
	"database/sql"
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/sqldb/mysqldb"
	"github.com/unalike-id/unalike/internal/sqlstore/sqltest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
)

// database connects to a server, with more parameters.
func database(tb testing.TB, s *mysqltest.Server, params string) *sqltest.Database {
	tb.Helper()
	open := func(dsn string, conns int) *sql.DB {
		pool, err := sql.Open("mysql", dsn)
		if err != nil {
			tb.Fatal(err)
		}
		pool.SetMaxOpenConns(conns)
		pool.SetMaxIdleConns(conns)
		return drivertest.Closing(tb, pool, nil)
	}
	return &sqltest.Database{
		DB: &mysqldb.DB{Pool: open(s.DSN("?multiStatements=true"+params), 16), At: s.Addr()}, Dialect: dialect(), SQL: open(s.DSN(""), 0),
		Waiting: "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'INNODB_ROW_LOCK_CURRENT_WAITS'",
		Next:    "NEXTVAL(%s)",
	}
}

// TestSQL runs the tests of stores in SQL databases.
func TestSQL(t *testing.T) { sqltest.Run(t, database(t, mysqltest.Start(t), "")) }

// TestCrowd: a thousand starters.
func TestCrowd(t *testing.T) { sqltest.Crowd(t, database(t, mysqltest.Start(t), "")) }

// TestHeld: no floor is raised while a statement that has read it is under way, whatever the
// isolation level.
func TestHeld(t *testing.T) {
	s := mysqltest.Start(t)
	for _, level := range []string{"READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"} {
		t.Run(level, func(t *testing.T) {
			sqltest.Held(t, database(t, s, "&tx_isolation=%27"+level+"%27"))
		})
	}
}

// TestRaces: dead locks, waits that last too long and rows that have changed are tried again.
func TestRaces(t *testing.T) {
	s := mysqltest.Start(t)
	for i, number := range []string{"1213", "1205", "1020"} {
		d := database(t, s, "")
		if i > 0 {
			d.Exec(t, "DROP TRIGGER race")
			d.Exec(t, "DROP SEQUENCE races")
		}
		sqltest.Races(t, d, "CREATE TRIGGER race BEFORE UPDATE ON unalike_slots FOR EACH ROW IF NEW.version <> OLD.version THEN IF NEXTVAL(races) % 3 <> 0 THEN SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = "+number+"; END IF; END IF")
	}
	d := database(t, s, "")
	d.Exec(t, "DROP TRIGGER race")
	sqltest.DeadLock(t, d, "SELECT 1 FROM unalike_namespaces WHERE namespace = '%s' FOR UPDATE")
}
