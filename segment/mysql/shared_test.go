package mysql

import (
	"fmt"
	"testing"

	"github.com/unalike-id/unalike/internal/sqlsegment/sqlsegmenttest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// TestShared: what databases share.
func TestShared(t *testing.T) {
	s := start(t)
	sqlsegmenttest.Run(t, s.Database)
}

// TestPromoted: a replica takes over without the last ranges.
func TestPromoted(t *testing.T) {
	args := []string{"--log-bin", "--sync-binlog=1", "--log-slave-updates"}
	s := start(t, append(args, "--server-id=1")...)
	replica := s.Replica(t, append(args, "--server-id=2")...)
	there := database(t, replica)
	s.Promoted(func() {
		streamtest.Eventually(t, "the replica has the tag", func() bool {
			var n int
			err := there.SQL.QueryRowContext(t.Context(), "SELECT MAX(max_id) FROM leaf_alloc").Scan(&n)
			return err == nil && n > 1
		})
		there.Do("STOP SLAVE")
	}, func() *sqlsegmenttest.Database {
		s.Kill()
		there.Do("RESET SLAVE ALL")
		return there
	})
}

// replicated starts a server with a replica.
func replicated(t *testing.T) sqlsegmenttest.Replicated {
	t.Helper()
	args := []string{"--log-bin", "--sync-binlog=1", "--log-slave-updates"}
	s := start(t, append(args, "--server-id=1")...)
	replica := s.Replica(t, append(args, "--server-id=2", "--read-only=1")...)
	s.Do("CREATE USER ann IDENTIFIED BY 'pw'", "GRANT ALL ON unalike.* TO ann")
	there := database(t, replica)
	return sqlsegmenttest.Replicated{
		Database: s.Database,
		Again: func(tb testing.TB) *sqlsegmenttest.Database {
			tb.Helper()
			return database(tb, s.Server)
		},
		Freeze: func() { s.Do("SET GLOBAL read_only = 1") },
		Promote: func() *sqlsegmenttest.Database {
			written := s.Text("SELECT @@gtid_binlog_pos")
			if there.Int("SELECT MASTER_GTID_WAIT('%s', 20)", written) != 0 {
				t.Fatalf("the replica has not got up to %s", written)
			}
			there.Do("STOP SLAVE", "SET GLOBAL read_only = 0")
			return there
		},
		URL: func(addr string) string {
			return "mysql://ann:pw@" + addr + "/" + mysqltest.Database
		},
		Limit: func(n int) string {
			return fmt.Sprintf("ALTER USER ann WITH MAX_USER_CONNECTIONS %d", n)
		},
	}
}

// TestStore_FrozenServerGivesNoNumbers runs a program through a planned switch-over.
func TestStore_FrozenServerGivesNoNumbers(t *testing.T) { sqlsegmenttest.SwitchOver(replicated(t)) }

// TestStore_MovedNameIsFollowed has a name lead to a promoted replica while the old server goes on.
func TestStore_MovedNameIsFollowed(t *testing.T) { sqlsegmenttest.Moved(t, replicated(t)) }

// TestStormHeavy: processes take numbers while everything fails.
func TestStormHeavy(t *testing.T) {
	s := start(t)
	sqlsegmenttest.Storm(t, s.Database, func(addr string) string {
		return "mysql://" + mysqltest.User + ":" + mysqltest.Password + "@" + addr + "/" +
			mysqltest.Database
	}, func() { s.Restart(t) })
}
