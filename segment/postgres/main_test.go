package postgres

import (
	"context"
	"database/sql"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // for the statements of tests

	"github.com/unalike-id/unalike/internal/leaktest"
	"github.com/unalike-id/unalike/internal/sqlsegment/sqlsegmenttest"
	"github.com/unalike-id/unalike/internal/sqlstore/sqltest"
	"github.com/unalike-id/unalike/internal/testserver/numbertest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
)

func TestMain(m *testing.M) {
	numbertest.Taker()
	leaktest.Main(m)
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

// server is a PostgreSQL in a test.
type server struct {
	*sqlsegmenttest.Database
	*pgtest.Server
}

// start runs a server that has the table.
func start(tb testing.TB, args ...string) server {
	tb.Helper()
	s := pgtest.Start(tb, args...)
	d := database(tb, s)
	d.Do(Schema(""))
	return server{d, s}
}

// openStore returns a store with a pool of its own, which are closed with the test.
func openStore(tb testing.TB, url string, o Options) *Store {
	tb.Helper()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		tb.Fatal(err)
	}
	config.MaxConns = 1 // it suffices
	Prepare(config)
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(pool.Close)
	s, err := New(pool, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// with returns a store whose sessions have settings.
func (s server) with(settings string) *Store {
	s.Helper()
	return openStore(s, s.URL()+settings, Options{})
}

// database is a server as the tests that databases share have it.
func database(tb testing.TB, s *pgtest.Server) *sqlsegmenttest.Database {
	tb.Helper()
	return &sqlsegmenttest.Database{
		Hand: sqltest.Hand{TB: tb, SQL: connect(tb, s.URL())}, Addr: "127.0.0.1:" + s.Port,
		StoreURL: "postgres://postgres@127.0.0.1:" + s.Port + "/postgres",
		Open: func(tb testing.TB, addr string, skip int64) sqlsegmenttest.Store {
			tb.Helper()
			return openStore(tb, "postgres://postgres@"+addr+"/postgres", Options{Skip: skip})
		},
		Idle: "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE" +
			" state LIKE 'idle in transaction%'",
		Retype:   "ALTER TABLE leaf_alloc ALTER max_id TYPE ",
		Nullable: "ALTER TABLE leaf_alloc ALTER max_id DROP NOT NULL",
		DropKey:  "ALTER TABLE leaf_alloc DROP CONSTRAINT leaf_alloc_pkey",
		Race: []string{
			"CREATE SEQUENCE races",
			"CREATE FUNCTION race() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN" +
				" IF nextval('races') % 3 <> 0 THEN RAISE deadlock_detected; END IF; RETURN NEW; END$$",
			"CREATE TRIGGER race BEFORE UPDATE ON leaf_alloc FOR EACH ROW EXECUTE FUNCTION race()",
		},
		Calm:  "DROP TRIGGER race ON leaf_alloc",
		Waits: "SELECT COUNT(*) FROM pg_locks WHERE NOT granted",
	}
}
