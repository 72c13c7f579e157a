//go:build unix

package mysql

import (
	"database/sql"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/unalike-id/unalike/internal/sqldb/mysqldb"
	"github.com/unalike-id/unalike/internal/sqlsegment"
	"github.com/unalike-id/unalike/internal/sqlsegment/sqlsegmenttest"
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
			config.DialFunc, config.Logger, config.MultiStatements = w.Dial, &mysql.NopLogger{}, true
			connector, err := mysql.NewConnector(config)
			if err != nil {
				tb.Fatal(err)
			}
			own := sql.OpenDB(connector)
			own.SetMaxOpenConns(1) // it suffices
			st, err := newStore(&mysqldb.DB{Pool: own, Owned: true}, sqlsegment.Options{Skip: skip})
			if err != nil {
				tb.Fatal(err)
			}
			tb.Cleanup(func() { _ = st.Close() })
			return st
		},
		Idle: "BEGIN NOT ATOMIC FOR c IN (SELECT ID FROM information_schema.PROCESSLIST WHERE COMMAND = 'Sleep' AND ID IN (SELECT trx_mysql_thread_id FROM information_schema.INNODB_TRX)) DO " +
			"EXECUTE IMMEDIATE CONCAT('KILL ', c.ID); END FOR; END",
	}
}

func TestDelayedReturn(t *testing.T) {
	s, p := start(t)
	sqlsegmenttest.DelayedReturn(t, database(s, p))
}

func TestTwoRows(t *testing.T) {
	s, p := start(t)
	sqlsegmenttest.TwoRows(t, database(s, p), "ALTER TABLE leaf_alloc DROP PRIMARY KEY")
}

func TestDamaged(t *testing.T) {
	s, p := start(t)
	sqlsegmenttest.Damaged(t, database(s, p), "ALTER TABLE leaf_alloc MODIFY max_id bigint NULL")
}

func TestChanged(t *testing.T) { s, p := start(t); sqlsegmenttest.Changed(t, database(s, p)) }

func TestFaults(t *testing.T) { s, p := start(t); sqlsegmenttest.Faults(t, database(s, p), s) }

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

// TestFailovers: two servers take over from each other.
func TestFailovers(t *testing.T) {
	t.Parallel()
	args := []string{"--log-bin", "--sync-binlog=1", "--log-slave-updates"}
	first := mysqltest.Start(t, append(args, "--server-id=1")...)
	follower := first.Replica(t, append(args, "--server-id=2")...)
	at := map[*mysqltest.Server]*sql.DB{first: connect(t, first.DSN("")), follower: connect(t, follower.DSN(""))}
	exec(t, at[first], Schema(""))
	sqlsegmenttest.Failovers(t, database(first, at[first]), sqlsegmenttest.Pair{
		Cut: func() {
			sqlsegmenttest.CaughtUp(t, at[first], at[follower])
			exec(t, at[follower], "STOP SLAVE")
		},
		Promote: func() *sqlsegmenttest.Database {
			first.Kill()
			exec(t, at[follower], "RESET SLAVE ALL")
			first, follower = follower, first
			return database(first, at[first])
		},
		Rejoin: func() { follower.Follow(t, first) },
	})
}
