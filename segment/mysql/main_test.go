package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/leaktest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
	"github.com/unalike-id/unalike/segment"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// within returns a context for one call.
func within(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	tb.Cleanup(cancel)
	return ctx
}

// connect returns a pool that is closed with the test.
func connect(tb testing.TB, dsn string) *sql.DB {
	tb.Helper()
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	config.MultiStatements = true
	pool, err := sql.Open("mysql", config.FormatDSN())
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

// start runs a server that has the table, and returns a pool.
func start(tb testing.TB, args ...string) (*mysqltest.Server, *sql.DB) {
	tb.Helper()
	s := mysqltest.Start(tb, args...)
	pool := connect(tb, s.DSN(""))
	exec(tb, pool, Schema(""))
	return s, pool
}

// store returns a store on a pool, which is closed with the test.
func store(tb testing.TB, pool *sql.DB, o *Options) *Store {
	tb.Helper()
	s, err := New(pool, drivertest.Value(o))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// create makes a tag.
func create(tb testing.TB, s *Store, tag string, next, step int64) {
	tb.Helper()
	if err := s.Create(within(tb), segment.Tag{Name: tag, Next: next, Step: step}); err != nil {
		tb.Fatal(err)
	}
}

// wantTake takes a range that is to begin at first and be as long as asked for.
func wantTake(tb testing.TB, s segment.Store, tag string, step, first int64) {
	tb.Helper()
	if r, err := s.Take(within(tb), tag, step); err != nil || r != (segment.Range{First: first, Last: first + step - 1}) {
		tb.Errorf("Take(%q, %d) = %v, %v; want it to begin at %d", tag, step, r, err, first)
	}
}

// next is what is stored for a tag.
func next(tb testing.TB, pool *sql.DB, tag string) (n int64) {
	tb.Helper()
	if err := pool.QueryRowContext(within(tb), fmt.Sprintf("SELECT max_id FROM leaf_alloc WHERE biz_tag = '%s'", tag)).Scan(&n); err != nil {
		tb.Fatal(err)
	}
	return n
}
