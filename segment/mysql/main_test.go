package mysql

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/unalike-id/unalike/internal/leaktest"
	"github.com/unalike-id/unalike/internal/sqlsegment/sqlsegmenttest"
	"github.com/unalike-id/unalike/internal/sqlstore/sqltest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
	"github.com/unalike-id/unalike/internal/testserver/numbertest"
)

func TestMain(m *testing.M) {
	numbertest.Taker()
	leaktest.Main(m)
}

// connect returns a pool that is closed with the test.
func connect(tb testing.TB, dsn string) *sql.DB {
	tb.Helper()
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	config.Logger, config.MultiStatements = &mysql.NopLogger{}, true
	connector, err := mysql.NewConnector(config)
	if err != nil {
		tb.Fatal(err)
	}
	pool := sql.OpenDB(connector)
	tb.Cleanup(func() { _ = pool.Close() })
	return pool
}

// server is a MariaDB in a test.
type server struct {
	*sqlsegmenttest.Database
	*mysqltest.Server
}

// start runs a server that has the table.
func start(tb testing.TB, args ...string) server {
	tb.Helper()
	s := mysqltest.Start(tb, args...)
	d := database(tb, s)
	d.Do(Schema(""))
	return server{d, s}
}

// database is a server as the tests that databases share have it.
func database(tb testing.TB, s *mysqltest.Server) *sqlsegmenttest.Database {
	tb.Helper()
	return &sqlsegmenttest.Database{
		Hand: sqltest.Hand{TB: tb, SQL: connect(tb, s.DSN(""))}, Addr: s.Addr(),
		StoreURL: url(s),
		Open: func(tb testing.TB, addr string, skip int64) sqlsegmenttest.Store {
			tb.Helper()
			own := connect(tb, strings.Replace(s.DSN(""), s.Addr(), addr, 1))
			own.SetMaxOpenConns(1) // it suffices
			return store(tb, own, Options{Skip: skip})
		},
		Idle: "BEGIN NOT ATOMIC FOR c IN (SELECT ID FROM information_schema.PROCESSLIST WHERE" +
			" COMMAND = 'Sleep' AND ID IN (SELECT trx_mysql_thread_id FROM" +
			" information_schema.INNODB_TRX)) DO EXECUTE IMMEDIATE CONCAT('KILL ', c.ID); END FOR; END",
		Retype:   "ALTER TABLE leaf_alloc MODIFY max_id ",
		Nullable: "ALTER TABLE leaf_alloc MODIFY max_id bigint NULL",
		DropKey:  "ALTER TABLE leaf_alloc DROP PRIMARY KEY",
		Race: []string{
			"CREATE SEQUENCE races",
			"CREATE TRIGGER race BEFORE UPDATE ON leaf_alloc FOR EACH ROW IF NEXTVAL(races) % 3 <> 0" +
				" THEN SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213; END IF",
		},
		Calm: "DROP TRIGGER race",
		Waits: "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE " +
			"'SELECT MAX(COALESCE(max_id%FOR UPDATE'",
	}
}

// store returns a store on a pool, which is closed with the test.
func store(tb testing.TB, pool *sql.DB, o Options) *Store {
	tb.Helper()
	s, err := New(pool, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// with returns a store whose sessions have parameters.
func (s server) with(params string) *Store {
	s.Helper()
	return store(s, connect(s, s.DSN(params)), Options{})
}

// url is that of a server.
func url(s *mysqltest.Server) string {
	return "mysql://" + mysqltest.User + ":" + mysqltest.Password + "@" + s.Addr() + "/" +
		mysqltest.Database
}
