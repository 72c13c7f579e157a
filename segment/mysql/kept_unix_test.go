//go:build unix

package mysql

import (
	"net"
	programs "os/exec"
	"testing"

	"github.com/unalike-id/unalike/internal/sqlsegment/sqlsegmenttest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// TestCrowds: many tags, many callers, and a server that stands still for a while.
func TestCrowds(t *testing.T) {
	s, pool := start(t)
	sqlsegmenttest.Crowds(t, database(s, pool), "INSERT INTO leaf_alloc (biz_tag, max_id, step) SELECT CONCAT('n', seq), 1, 2 FROM seq_0_to_999")
}

// TestDumped: a dump is restored, here and elsewhere.
func TestDumped(t *testing.T) {
	s, pool := start(t)
	other, otherPool := start(t, "--server-id=2")
	sqlsegmenttest.Dumped(t, database(s, pool), database(other, otherPool), sqlsegmenttest.Dumps{
		Dump: func(tb testing.TB, d *sqlsegmenttest.Database) *programs.Cmd {
			tb.Helper()
			return client(tb, d, "mariadb-dump", "leaf_alloc", "unalike_meta")
		},
		Restore: func(tb testing.TB, d *sqlsegmenttest.Database) *programs.Cmd {
			tb.Helper()
			return client(tb, d, "mariadb")
		},
	})
}

// client is one of MariaDB's programs, for a server.
func client(tb testing.TB, d *sqlsegmenttest.Database, name string, tables ...string) *programs.Cmd {
	tb.Helper()
	proctest.Need(tb, "mariadb-client", name)
	host, port, err := net.SplitHostPort(d.Addr)
	if err != nil {
		tb.Fatal(err)
	}
	args := []string{"--no-defaults", "--protocol=tcp", "--host=" + host, "--port=" + port, "--user=" + mysqltest.User, "--password=" + mysqltest.Password, mysqltest.Database}
	return programs.Command(name, append(args, tables...)...)
}
