package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/unalike-id/unalike/internal/sqlsegment/sqlsegmenttest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	"github.com/unalike-id/unalike/segment"
)

// TestCancelledWait: what is confirmed with a warning, because somebody has cancelled the wait for a standby, is not handed out and does not count as done, also
// where messages are hushed.
func TestCancelledWait(t *testing.T) {
	t.Parallel()
	s, pool := start(t)
	exec(t, pool, "INSERT INTO leaf_alloc (biz_tag, step) VALUES ('a', 10), ('other', 10)")
	st := openStore(t, s.URL()+"?client_min_messages=error", &sqlsegmenttest.Wire{}, nil)
	wantTake(t, st, "a", 10, 1)
	exec(t, pool, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
	exec(t, pool, "SELECT pg_reload_conf()")
	const waits = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
	waiting := func() (n int) {
		if err := pool.QueryRowContext(within(t), "SELECT COUNT(*) "+waits).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	others, end := context.WithCancel(t.Context())
	defer end()
	go func() { // until the server has heard of it, which the setting of a connection does not tell
		for others.Err() == nil {
			_, _ = pool.ExecContext(others, "UPDATE leaf_alloc SET step = step WHERE biz_tag = 'other'")
		}
	}()
	streamtest.Eventually(t, "commits wait", func() bool { return waiting() == 1 })
	end()
	streamtest.Eventually(t, "none waits", func() bool { return waiting() == 0 })
	for what, call := range map[string]func() error{
		"Take":    func() error { _, err := st.Take(within(t), "a", 10); return err },
		"Advance": func() error { return st.Advance(within(t), "a", 1000) },
	} {
		done := make(chan error, 1)
		go func() { done <- call() }()
		streamtest.Eventually(t, "the commit waits", func() bool {
			return len(done) == 1 || waiting() == 1
		})
		exec(t, pool, "SELECT pg_cancel_backend(pid) "+waits)
		if err := <-done; err == nil || !strings.Contains(err.Error(), "warning") {
			t.Errorf("%s, which no standby has: %v", what, err)
		}
	}
	unprepared, err := pgxpool.New(within(t), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer unprepared.Close()
	if _, err := New(unprepared, Options{}); !errors.Is(err, segment.ErrInvalidConfig) || !strings.Contains(err.Error(), "postgres.Prepare") {
		t.Errorf("New with a pool that was not prepared: %v", err)
	}
}

// TestUnlogged: a table that is empty after a crash is a warning, or refused.
func TestUnlogged(t *testing.T) {
	t.Parallel()
	s, pool := start(t, "-c", "fsync=on", "-c", "full_page_writes=on")
	exec(t, pool, "ALTER TABLE leaf_alloc SET UNLOGGED")
	st := openStore(t, s.URL(), &sqlsegmenttest.Wire{}, nil)
	if _, err := st.Tags(within(t)); err != nil || !strings.Contains(strings.Join(st.Warnings(), "\n"), "UNLOGGED") {
		t.Errorf("Tags: %v; Warnings: %v", err, st.Warnings())
	}
	required := openStore(t, s.URL(), &sqlsegmenttest.Wire{}, &Options{RequireDurable: true})
	if _, err := required.Tags(within(t)); !errors.Is(err, segment.ErrInvalidConfig) || !strings.Contains(err.Error(), "UNLOGGED") {
		t.Errorf("Tags with RequireDurable: %v", err)
	}
	exec(t, pool, "ALTER TABLE leaf_alloc SET LOGGED")
	if _, err := required.Tags(within(t)); err != nil {
		t.Error(err)
	}
}

// TestTrigger: a trigger that raises max_id by less than was asked for makes ranges that begin below the last one: none is handed out, and none is taken for
// nobody until the tag is above it.
func TestTrigger(t *testing.T) {
	t.Parallel()
	s, pool := start(t)
	exec(t, pool, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('a', 1000, 10)")
	st := openStore(t, s.URL(), &sqlsegmenttest.Wire{}, nil)
	wantTake(t, st, "a", 10, 1000)
	exec(t, pool, "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.max_id := OLD.max_id - 7; RETURN NEW; END$$")
	exec(t, pool, "CREATE TRIGGER keep BEFORE UPDATE ON leaf_alloc FOR EACH ROW EXECUTE FUNCTION keep()")
	for range 3 {
		if r, err := st.Take(within(t), "a", 10); !errors.Is(err, segment.ErrWentBack) {
			t.Errorf("after 1009 came %v, %v", r, err)
		}
	}
	n := 0
	if err := pool.QueryRowContext(within(t), "SELECT max_id FROM leaf_alloc").Scan(&n); err != nil || n != 1003 {
		t.Errorf("max_id is %d, %v; want that of one attempt", n, err)
	}
	exec(t, pool, "DROP TRIGGER keep ON leaf_alloc")
	if err := st.Advance(within(t), "a", 1010); err != nil {
		t.Fatal(err)
	}
	wantTake(t, st, "a", 10, 1010)
}
