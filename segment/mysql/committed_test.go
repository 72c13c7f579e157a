package mysql

import (
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	"github.com/unalike-id/unalike/segment"
)

// TestStatementLog: a server whose replicas would work a range out anew, and never have it, hands out none; one that logs rows where
// statements are unsafe does, and its replica has them.
func TestStatementLog(t *testing.T) {
	t.Parallel()
	args := []string{"--log-bin", "--sync-binlog=1", "--binlog-format=MIXED", "--log-slave-updates"}
	s := mysqltest.Start(t, append(args, "--server-id=1")...)
	replica := connect(t, s.Replica(t, append(args, "--server-id=2")...).DSN(""))
	pool := connect(t, s.DSN(""))
	exec(t, pool, Schema(""))
	st := store(t, pool, nil)
	create(t, st, "a", 1, 10)
	wantTake(t, st, "a", 10, 1)
	if done, err := st.GiveBack(within(t), "a", segment.Range{First: 8, Last: 10}); !done || err != nil {
		t.Error(done, err)
	}
	wantTake(t, st, "a", 10, 8)
	streamtest.Eventually(t, "the replica has the ranges", func() bool {
		var n int
		err := replica.QueryRowContext(within(t), "SELECT max_id FROM leaf_alloc WHERE biz_tag = 'a'").Scan(&n)
		return err == nil && n == 18
	})
	exec(t, pool, "SET GLOBAL binlog_format = 'STATEMENT'")
	later := store(t, connect(t, s.DSN("")), nil)
	if r, err := later.Take(within(t), "a", 10); !errors.Is(err, segment.ErrInvalidConfig) || !strings.Contains(err.Error(), "set it to ROW or MIXED") {
		t.Errorf("Take with statements in the log: %v, %v", r, err)
	}
	if n := next(t, pool, "a"); n != 18 {
		t.Errorf("max_id is %d", n)
	}
}

// checkSettings: whatever the settings of a session are, what is handed out is stored, also when the session ends at once.
func checkSettings(t *testing.T, s *mysqltest.Server, pool *sql.DB) {
	const tag = "Größe 漢字"
	create(t, store(t, pool, nil), tag, 1, 10)
	create(t, store(t, pool, nil), "other", 1, 10)
	for _, params := range append([]string{
		"&charset=latin1", "&clientFoundRows=true", "&interpolateParams=true", "&multiStatements=true", "&tx_isolation=%27SERIALIZABLE%27", "&tx_isolation=%27READ-UNCOMMITTED%27",
	}, mysqltest.Settings...) {
		own := connect(t, s.DSN("?"+strings.TrimPrefix(params, "&")))
		own.SetMaxOpenConns(1)
		st, first := store(t, own, nil), next(t, pool, tag)
		r, err := st.Take(within(t), tag, 10)
		if want := (segment.Range{First: first, Last: first + 9}); err != nil || r != want || next(t, pool, tag) != first+10 {
			t.Errorf("%s: Take: %v, %v; want %v; max_id is %d", params, r, err, want, next(t, pool, tag))
		}
		if done, err := st.GiveBack(within(t), tag, segment.Range{First: first + 3, Last: first + 9}); !done || err != nil {
			t.Errorf("%s: GiveBack: %v, %v", params, done, err)
		}
		wantTake(t, st, tag, 10, first+3)
		if all, err := st.Tags(within(t)); err != nil || len(all) != 2 {
			t.Errorf("%s: Tags: %v, %v", params, all, err)
		}
		_ = own.Close()
		if n := next(t, pool, tag); n != first+13 {
			t.Errorf("%s: max_id is %d when the session has ended; %d were handed out", params, n, first+12)
		}
	}
}

// checkChain: the end of a transaction begins the next one, on a server that is set so. Nothing is handed out within one, on a pool of the caller's, on
// one that was made here, and on a connection that somebody has left within one.
func checkChain(t *testing.T, s *mysqltest.Server, pool *sql.DB) {
	create(t, store(t, pool, nil), "a", 1, 10)
	exec(t, pool, "SET GLOBAL completion_type = 'CHAIN'")
	defer exec(t, pool, "SET GLOBAL completion_type = 'NO_CHAIN'")
	own := connect(t, s.DSN(""))
	own.SetMaxOpenConns(1)
	st := store(t, own, nil)
	made, err := segment.Open(within(t), "mysql://"+mysqltest.User+":"+mysqltest.Password+"@"+s.Addr()+"/"+mysqltest.Database, segment.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	for n, store := range []segment.Store{st, made} {
		first := next(t, pool, "a")
		wantTake(t, store, "a", 10, first)
		if done, err := store.GiveBack(within(t), "a", segment.Range{First: first + 5, Last: first + 9}); !done || err != nil {
			t.Error(n, done, err)
		}
		wantTake(t, store, "a", 10, first+5)
		if got := next(t, pool, "a"); got != first+15 {
			t.Errorf("store %d: max_id is %d, and %d were handed out", n, got, first+14)
		}
	}
	for _, left := range []string{"BEGIN", "START TRANSACTION READ ONLY", "COMMIT", "XA START 'x'"} {
		exec(t, own, left)
		first := next(t, pool, "a")
		if r, err := st.Take(within(t), "a", 10); err == nil && (r.First != first || next(t, pool, "a") != first+10) {
			t.Errorf("Take after %s: %v; max_id went from %d to %d", left, r, first, next(t, pool, "a"))
		}
	}
	wantTake(t, st, "a", 10, next(t, pool, "a"))
}

// checkNarrow: a column that is made narrower while a program runs, on a server that is not strict, is clamped: what was handed out is not handed out
// again, to this program or another one.
func checkNarrow(t *testing.T, s *mysqltest.Server, pool *sql.DB) {
	st := store(t, connect(t, s.DSN("?clientFoundRows=true&sql_mode=%27%27")), nil)
	create(t, st, "a", 2147483600, 10)
	wantTake(t, st, "a", 10, 2147483600)
	exec(t, pool, "ALTER TABLE leaf_alloc MODIFY max_id int NOT NULL")
	defer exec(t, pool, "ALTER TABLE leaf_alloc MODIFY max_id bigint NOT NULL")
	for first := int64(2147483610); first < 2147483640; first += 10 {
		wantTake(t, st, "a", 10, first)
	}
	for _, st := range []*Store{st, store(t, connect(t, s.DSN("?sql_mode=%27%27")), nil), st} {
		if r, err := st.Take(within(t), "a", 10); !errors.Is(err, segment.ErrInvalidConfig) && !errors.Is(err, segment.ErrExhausted) {
			t.Errorf("after 2147483639 came %v, %v", r, err)
		}
	}
}
