//go:build unix

package mysql

import (
	"database/sql"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/unalike-id/unalike/internal/sqlsegment/sqlsegmenttest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// database is a server as the tests that databases share have it.
func database(s *mysqltest.Server, pool *sql.DB) *sqlsegmenttest.Database {
	return &sqlsegmenttest.Database{
		SQL: pool, Addr: s.Addr(),
		Open: func(tb testing.TB, w *sqlsegmenttest.Wire, skip int64) sqlsegmenttest.Store {
			tb.Helper()
			config, err := mysql.ParseDSN(s.DSN(""))
			if err != nil {
				tb.Fatal(err)
			}
			config.DialFunc, config.Logger = w.Dial, &mysql.NopLogger{}
			connector, err := mysql.NewConnector(config)
			if err != nil {
				tb.Fatal(err)
			}
			own := sql.OpenDB(connector)
			own.SetMaxOpenConns(1) // it suffices
			tb.Cleanup(func() { _ = own.Close() })
			return store(tb, own, &Options{Skip: skip})
		},
		Idle: "BEGIN NOT ATOMIC FOR c IN (SELECT ID FROM information_schema.PROCESSLIST WHERE COMMAND = 'Sleep' AND ID IN (SELECT trx_mysql_thread_id FROM information_schema.INNODB_TRX)) DO " +
			"EXECUTE IMMEDIATE CONCAT('KILL ', c.ID); END FOR; END",
	}
}

func TestDelayedReturn(t *testing.T) {
	s, p := start(t)
	sqlsegmenttest.DelayedReturn(t, database(s, p))
}
func TestChanged(t *testing.T) { s, p := start(t); sqlsegmenttest.Changed(t, database(s, p)) }

// TestFaults does to a server what happens to one.
func TestFaults(t *testing.T) {
	s, pool := start(t)
	d := database(s, pool)
	t.Run("round trips", func(t *testing.T) { sqlsegmenttest.OneRoundTrip(t, d) })
	t.Run("lost replies", func(t *testing.T) { sqlsegmenttest.LostReplies(t, d) })
	t.Run("set back", func(t *testing.T) { sqlsegmenttest.SetBack(t, d) })
	t.Run("frozen", func(t *testing.T) { sqlsegmenttest.Frozen(t, d, s) })
	t.Run("killed", func(t *testing.T) { sqlsegmenttest.Killed(t, d, s, fulltest.Rounds(2, 50)) })
}

// TestPromoted: a replica takes over without the last ranges.
func TestPromoted(t *testing.T) {
	s := mysqltest.Start(t, "--log-bin", "--sync-binlog=1", "--server-id=1")
	replica := s.Replica(t, "--log-bin", "--sync-binlog=1", "--server-id=2", "--log-slave-updates")
	there := connect(t, replica.DSN(""))
	pool := connect(t, s.DSN(""))
	exec(t, pool, Schema(""))
	d := database(s, pool)
	sqlsegmenttest.Promoted(t, d, func() {
		streamtest.Eventually(t, "the replica has the tag", func() bool {
			var n int
			err := there.QueryRowContext(within(t), "SELECT max_id FROM leaf_alloc WHERE biz_tag = 'promoted'").Scan(&n)
			return err == nil && n > 1
		})
		exec(t, there, "STOP SLAVE")
	}, func() *sqlsegmenttest.Database {
		s.Kill()
		exec(t, there, "RESET SLAVE ALL")
		return database(replica, there)
	})
}
