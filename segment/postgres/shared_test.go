package postgres

import (
	"cmp"
	"fmt"
	"testing"

	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/sqlsegment/sqlsegmenttest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	"github.com/unalike-id/unalike/segment"
)

// TestShared: what databases share.
func TestShared(t *testing.T) {
	s := start(t)
	sqlsegmenttest.Run(t, s.Database)
}

// TestStore_TakeBesideInsertBeginsAtFirst has a tag made after a take has found no row to lock.
func TestStore_TakeBesideInsertBeginsAtFirst(t *testing.T) {
	s := start(t)
	st := s.Create("other", 1)
	tx, err := s.SQL.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	do := func(text string) {
		if _, err := tx.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	do("LOCK TABLE leaf_alloc IN SHARE MODE") // a row may be locked, and not be changed
	result := make(chan segment.Range, 1)
	go func() {
		r, err := st.Take(s.Within(), "made", 10)
		s.WantErr("Take", err, nil, "")
		result <- r
	}()
	streamtest.Eventually(t, "the take waits", func() bool { return s.Int("%s", s.Waits) > 0 })
	do("INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('made', 1000, 10)")
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if r := <-result; r.First != 1000 {
		safetytest.Of(t).Errorf("the first range is %v; want it to begin at 1000", r)
	}
}

// TestPromoted: a standby takes over without the last ranges.
func TestPromoted(t *testing.T) {
	s := start(t)
	var standby *pgtest.Server
	s.Promoted(func() {
		standby = s.Standby(t)
		standby.Kill() // it hears of nothing more
	}, func() *sqlsegmenttest.Database {
		s.Kill()
		standby.Restart(t)
		there := database(t, standby)
		streamtest.Eventually(t, "it is promoted", func() bool {
			_, err := there.SQL.ExecContext(t.Context(), "SELECT pg_promote()")
			return err == nil
		})
		return there
	})
}

// replicated starts a server with a standby.
func replicated(t *testing.T) sqlsegmenttest.Replicated {
	t.Helper()
	s := start(t)
	s.Do("CREATE ROLE ann LOGIN", "GRANT ALL ON SCHEMA public TO ann",
		"ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO ann", "GRANT ALL ON leaf_alloc TO ann")
	standby := s.Standby(t)
	return sqlsegmenttest.Replicated{
		Database: s.Database,
		Again: func(tb testing.TB) *sqlsegmenttest.Database {
			tb.Helper()
			return database(tb, s.Server)
		},
		Freeze: func() {
			s.Do("ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
		},
		Promote: func() *sqlsegmenttest.Database {
			there := database(t, standby)
			there.Do("SELECT pg_promote()")
			return there
		},
		URL: func(addr string) string { return "postgres://ann@" + addr + "/postgres" },
		Limit: func(n int) string {
			return fmt.Sprintf("ALTER ROLE ann CONNECTION LIMIT %d", cmp.Or(n, -1))
		},
	}
}

// TestStore_FrozenServerGivesNoNumbers runs a program through a planned switch-over.
func TestStore_FrozenServerGivesNoNumbers(t *testing.T) { sqlsegmenttest.SwitchOver(replicated(t)) }

// TestStore_MovedNameIsFollowed has a name lead to a promoted standby while the old server goes on.
func TestStore_MovedNameIsFollowed(t *testing.T) { sqlsegmenttest.Moved(t, replicated(t)) }

// TestStormHeavy: processes take numbers while everything fails.
func TestStormHeavy(t *testing.T) {
	s := start(t)
	sqlsegmenttest.Storm(t, s.Database, func(addr string) string {
		return "postgres://postgres@" + addr + "/postgres"
	}, func() { s.Restart(t) })
}
