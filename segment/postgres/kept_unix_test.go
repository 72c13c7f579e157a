//go:build unix

package postgres

import (
	programs "os/exec"
	"testing"

	"github.com/unalike-id/unalike/internal/sqlsegment/sqlsegmenttest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
)

// TestCrowds: many tags, many callers, and a server that stands still for a while.
func TestCrowds(t *testing.T) {
	s, pool := start(t)
	sqlsegmenttest.Crowds(t, database(s, pool), "INSERT INTO leaf_alloc (biz_tag, max_id, step) SELECT 'n' || n, 1, 2 FROM generate_series(0, 999) n")
}

// TestDumped: a dump is restored, here and elsewhere.
func TestDumped(t *testing.T) {
	s, pool := start(t)
	other := pgtest.StartNew(t)
	otherPool := connect(t, other.URL())
	exec(t, otherPool, Schema(""))
	client := func(name string, args ...string) func(testing.TB, *sqlsegmenttest.Database) *programs.Cmd {
		return func(tb testing.TB, d *sqlsegmenttest.Database) *programs.Cmd {
			tb.Helper()
			return s.Command(tb, pgtest.Program(name), append(args, "--dbname=postgres://postgres@"+d.Addr+"/postgres")...)
		}
	}
	sqlsegmenttest.Dumped(t, database(s, pool), database(other, otherPool), sqlsegmenttest.Dumps{
		Dump:    client("pg_dump", "--clean", "--if-exists", "--table=leaf_alloc", "--table=unalike_meta"),
		Restore: client("psql", "--quiet", "--set=ON_ERROR_STOP=1"),
	})
}

// TestPgBouncer: with a pooler in transaction mode each transaction may have another connection.
func TestPgBouncer(t *testing.T) {
	s, pool := start(t)
	url := s.Bouncer(t)
	segmenttest.Run(t, func(tb testing.TB) segment.Store { return openStore(tb, url, &sqlsegmenttest.Wire{}, nil) })
	d := database(s, pool)
	d.Open = func(tb testing.TB, _ *sqlsegmenttest.Wire, _ int64) sqlsegmenttest.Store {
		tb.Helper()
		st, err := segment.Open(within(tb), url, segment.OpenOptions{}) // as programs do it, with several connections
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = st.Close() })
		return st.(*Store)
	}
	t.Run("one tag", func(t *testing.T) { sqlsegmenttest.OneTag(t, d) })
}
