package postgres

import (
	"context"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/unalike-id/unalike/internal/sqlstore/sqltest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
)

// database connects to a server, with more parameters.
func database(tb testing.TB, s *pgtest.Server, params string) *sqltest.Database {
	tb.Helper()
	open := func(params string) *pgxpool.Pool {
		config, err := pgxpool.ParseConfig(s.URL() + params)
		if err != nil {
			tb.Fatal(err)
		}
		Prepare(config)
		pool, err := pgxpool.NewWithConfig(context.Background(), config)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(pool.Close)
		return pool
	}
	byHand := stdlib.OpenDBFromPool(open("?pool_max_conns=8&default_query_exec_mode=exec"))
	tb.Cleanup(func() { _ = byHand.Close() })
	return &sqltest.Database{
		DB: &db{open("?pool_max_conns=16" + params)}, Dialect: dialect(), Accept: []string{"fsync"}, SQL: byHand,
		Waiting: "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'",
	}
}

// TestSQL runs the tests of stores in SQL databases.
func TestSQL(t *testing.T) { sqltest.Run(t, database(t, pgtest.Start(t), "")) }

// TestBetween: something happens between two transactions of one operation.
func TestBetween(t *testing.T) { sqltest.Between(t, database(t, pgtest.Start(t), "")) }

// TestHeld: no floor is raised while a statement that has read it is under way, whatever the
// isolation level.
func TestHeld(t *testing.T) {
	s := pgtest.Start(t)
	for _, level := range []string{"read uncommitted", "read committed", "repeatable read", "serializable"} {
		t.Run(level, func(t *testing.T) {
			sqltest.Held(t, database(t, s, "&default_transaction_isolation="+url.PathEscape(level)))
		})
	}
}
