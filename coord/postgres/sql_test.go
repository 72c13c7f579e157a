package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/leaktest"
	"github.com/unalike-id/unalike/internal/sqldb/pgdb"
	"github.com/unalike-id/unalike/internal/sqlstore"
	"github.com/unalike-id/unalike/internal/sqlstore/sqltest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// newPool returns a pool that was prepared and ends with the test.
func newPool(tb testing.TB, url string) *pgxpool.Pool {
	tb.Helper()
	config, err := pgxpool.ParseConfig(url)
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

// database connects to a server, with more parameters.
func database(tb testing.TB, s *pgtest.Server, params string) *sqltest.Database {
	tb.Helper()
	open := func(params string) *pgxpool.Pool { tb.Helper(); return newPool(tb, s.URL()+params) }
	byHand := stdlib.OpenDBFromPool(open("?pool_max_conns=8&default_query_exec_mode=exec"))
	tb.Cleanup(func() { _ = byHand.Close() })
	return &sqltest.Database{
		DB: pgdb.Of(open("?pool_max_conns=16" + params)), Dialect: dialect(),
		Options: sqlstore.Options{Accept: []string{"fsync"}}, Hand: sqltest.Hand{TB: tb, SQL: byHand},
		Waiting: "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'",
		Next:    "nextval('%s')",
	}
}

// TestSQL runs the tests of stores in SQL databases.
func TestSQL(t *testing.T) { sqltest.Run(t, database(t, pgtest.Start(t), "")) }

// TestBetween: something happens between two transactions of one operation.
func TestBetween(t *testing.T) {
	d := database(t, pgtest.Start(t), "")
	coordtest.RunBetween(t, func(tb testing.TB) coordtest.BetweenHarness {
		ns := rand.Text()
		return coordtest.BetweenHarness{
			Harness: d.Driver(tb).Harness(ns),
			Lose:    func(tb testing.TB) func() { tb.Helper(); return d.On(tb).Dump(ns) },
			Before: func(c coord.Coordinator, n int, act func()) func() bool {
				return c.(sqltest.Participant).Before(n, act)
			},
		}
	})
}

// TestStore holds the store to its interface.
func TestStore(t *testing.T) {
	t.Parallel()
	sqltest.Store(t, database(t, pgtest.Start(t), ""))
}

// TestConformance holds the coordinator to its interface.
func TestConformance(t *testing.T) {
	t.Parallel()
	sqltest.Conformance(t, database(t, pgtest.Start(t), ""))
}

// TestWire: a transaction is one round trip, a client whose last packet is lost leaves nothing
// locked, and a change whose connection breaks is not sent again.
func TestWire(t *testing.T) {
	s := pgtest.Start(t)
	d := database(t, s, "")
	sqltest.Wired(t, d, "127.0.0.1:"+s.Port, connect)
}

// connect makes a pool of connections to an address.
func connect(tb testing.TB, addr string, conns int) sqlstore.Database {
	tb.Helper()
	return pgdb.Of(newPool(tb, fmt.Sprintf("postgres://postgres@%s/postgres?pool_max_conns=%d", addr,
		conns)))
}

// TestDeleted: a namespace that was deleted begins with a floor.
func TestDeleted(t *testing.T) {
	t.Parallel()
	sqltest.Deleted(t, database(t, pgtest.Start(t), ""))
}

// TestCutOff: a namespace is deleted while a holder is cut off, and no ID comes twice.
func TestCutOff(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t, "-c", "max_connections=400")
	sqltest.CutOff(t, database(t, s, ""), "127.0.0.1:"+s.Port, connect)
}

// TestHeld: no floor is raised while a statement that has read it is under way, whatever the
// isolation level.
func TestHeld(t *testing.T) {
	s := pgtest.Start(t)
	for _, level := range []string{
		"read uncommitted", "read committed", "repeatable read",
		"serializable",
	} {
		t.Run(level, func(t *testing.T) {
			sqltest.Held(t, database(t, s, "&default_transaction_isolation="+url.PathEscape(level)))
		})
	}
}

// TestRaces: serialization failures and dead locks are tried again.
func TestRaces(t *testing.T) {
	for _, code := range []string{"40001", "40P01"} {
		sqltest.Races(database(t, pgtest.Start(t), ""), `CREATE FUNCTION race() RETURNS trigger
LANGUAGE plpgsql AS $$BEGIN IF nextval('races') % 3 <> 0 THEN
RAISE EXCEPTION USING ERRCODE = '`+code+`'; END IF; RETURN NEW; END$$`,
			"CREATE TRIGGER race BEFORE UPDATE ON unalike_slots FOR EACH ROW EXECUTE FUNCTION race()")
	}
}

// TestSettings: no setting of a session changes what is stored.
func TestSettings(t *testing.T) {
	s := pgtest.Start(t)
	for _, params := range []string{
		"&timezone=Asia/Kolkata", "&datestyle=SQL,DMY",
		"&standard_conforming_strings=off&escape_string_warning=on",
		"&bytea_output=escape", "&extra_float_digits=-5", "&intervalstyle=sql_standard",
		"&client_encoding=LATIN1",
		"&default_transaction_deferrable=on", "&plan_cache_mode=force_generic_plan",
		"&transform_null_equals=on",
	} {
		t.Run(params, func(t *testing.T) {
			sqltest.Stored(database(t, s, params))
		})
	}
}
