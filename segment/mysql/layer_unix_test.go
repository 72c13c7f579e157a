//go:build unix

package mysql

import (
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/sqlsegment/sqlsegmenttest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	"github.com/unalike-id/unalike/segment"
)

// TestMisfits: columns that are not those of the table are said to be so.
func TestMisfits(t *testing.T) {
	t.Parallel()
	s, p := start(t)
	sqlsegmenttest.Misfits(t, database(s, p), "ALTER TABLE leaf_alloc MODIFY max_id decimal(20,2) NOT NULL", "ALTER TABLE leaf_alloc MODIFY max_id bigint NOT NULL")
}

// TestOrphans: attempts that were given up wait in the server for a row that is locked, and take nothing when it is free.
func TestOrphans(t *testing.T) {
	t.Parallel()
	s, pool := start(t)
	const step = 1000
	create(t, store(t, pool, nil), "a", 1, step)
	q, err := segment.New(within(t), store(t, connect(t, s.DSN("")), nil), "a", segment.Config{RefillTimeout: 100 * time.Millisecond, MaxStep: step, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close(within(t))
	tx, err := pool.BeginTx(within(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(within(t), "SELECT 1 FROM leaf_alloc WHERE biz_tag = 'a' FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Fill(within(t), make([]int64, step)); err != nil {
		t.Fatal(err)
	}
	const waiting = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'UPDATE%max_id%'"
	streamtest.Eventually(t, "attempts wait in the server", func() bool {
		var n int
		return pool.QueryRowContext(within(t), waiting).Scan(&n) == nil && n >= 5
	})
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	streamtest.Eventually(t, "there is a segment", func() bool { _, err := q.TryNext(); return err == nil })
	streamtest.Eventually(t, "none waits", func() bool {
		var n int
		return pool.QueryRowContext(within(t), waiting).Scan(&n) == nil && n == 0
	})
	if n, most := next(t, pool, "a"), int64(1+5*step); n > most {
		t.Errorf("max_id is %d after the first segment and one or two more; want %d at most", n, most)
	}
}

// TestSelectLimit: a limit of the session leaves out no tag.
func TestSelectLimit(t *testing.T) {
	t.Parallel()
	s, pool := start(t)
	for i := range 3 {
		create(t, store(t, pool, nil), fmt.Sprint("t", i), 1, 10)
	}
	set, err := segment.NewSet(within(t), store(t, connect(t, s.DSN("?sql_select_limit=1")), nil), segment.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close(within(t))
	for i := range 3 {
		if _, err := set.Next(within(t), fmt.Sprint("t", i)); err != nil {
			t.Error(err)
		}
	}
}

// TestOneMessage: a pool that cannot send several statements at once is refused, and it is said what it lacks.
func TestOneMessage(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	pool, err := sql.Open("mysql", s.DSN(""))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if _, err := store(t, pool, nil).Tags(within(t)); !errors.Is(err, segment.ErrInvalidConfig) || !strings.Contains(err.Error(), "MultiStatements") {
		t.Errorf("Tags: %v", err)
	}
}
