package postgres

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // for the statements of tests

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/leaktest"
	"github.com/unalike-id/unalike/internal/sqlsegment/sqlsegmenttest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
	"github.com/unalike-id/unalike/segment"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// within returns a context for one call.
func within(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	tb.Cleanup(cancel)
	return ctx
}

// connect returns a pool for statements of tests, which is closed with the test.
func connect(tb testing.TB, url string) *sql.DB {
	tb.Helper()
	pool, err := sql.Open("pgx", url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = pool.Close() })
	return pool
}

// exec runs a statement.
func exec(tb testing.TB, pool *sql.DB, statement string) {
	tb.Helper()
	if _, err := pool.ExecContext(within(tb), statement); err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
}

// start runs a server that has the table.
func start(tb testing.TB, args ...string) (*pgtest.Server, *sql.DB) {
	tb.Helper()
	s := pgtest.Start(tb, args...)
	pool := connect(tb, s.URL())
	exec(tb, pool, Schema(""))
	return s, pool
}

// open returns a store with a pool of its own, which are closed with the test.
func openStore(tb testing.TB, url string, w *sqlsegmenttest.Wire, o *Options) *Store {
	tb.Helper()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		tb.Fatal(err)
	}
	config.MaxConns = 1 // it suffices
	config.ConnConfig.DialFunc = w.Dial
	Prepare(config)
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(pool.Close)
	s, err := New(pool, drivertest.Value(o))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// database is a server as the tests that databases share have it.
func database(s *pgtest.Server, pool *sql.DB) *sqlsegmenttest.Database {
	return &sqlsegmenttest.Database{
		SQL: pool, Addr: "127.0.0.1:" + s.Port,
		Open: func(tb testing.TB, w *sqlsegmenttest.Wire, skip int64) sqlsegmenttest.Store {
			tb.Helper()
			return openStore(tb, s.URL(), w, &Options{Skip: skip})
		},
		Idle: "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'",
		Race: []string{
			"CREATE SEQUENCE races",
			"CREATE FUNCTION race() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN IF nextval('races') % 3 <> 0 THEN RAISE deadlock_detected; END IF; RETURN NEW; END$$",
			"CREATE TRIGGER race BEFORE UPDATE ON leaf_alloc FOR EACH ROW EXECUTE FUNCTION race()",
		},
		Calm: "DROP TRIGGER race ON leaf_alloc",
	}
}

// wantTake takes a range that is to begin at first.
func wantTake(tb testing.TB, s segment.Store, tag string, step, first int64) {
	tb.Helper()
	if r, err := s.Take(within(tb), tag, step); err != nil || r != (segment.Range{First: first, Last: first + step - 1}) {
		tb.Errorf("Take(%q, %d) = %v, %v; want it to begin at %d", tag, step, r, err, first)
	}
}
