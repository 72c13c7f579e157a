package postgres_test

import (
	"context"
	"crypto/rand"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/coord/postgres"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
)

// newPool returns a pool that was prepared and ends with the test.
func newPool(tb testing.TB, url string, change ...func(*pgxpool.Config)) *pgxpool.Pool {
	tb.Helper()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		tb.Fatal(err)
	}
	for _, f := range change {
		f(config)
	}
	postgres.Prepare(config)
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(pool.Close)
	return pool
}

// noSync are the risks of the servers of tests.
var noSync = []string{"fsync"}

// newCoordinator returns a coordinator that is closed with the test.
func newCoordinator(tb testing.TB, pool *pgxpool.Pool, namespace string, o *postgres.Options) *postgres.Coordinator {
	tb.Helper()
	var opts postgres.Options
	if o != nil {
		opts = *o
	}
	opts.Accept = noSync
	c, err := postgres.New(pool, namespace, opts)
	return drivertest.Closing(tb, c, err)
}

// exec makes a statement by hand.
func exec(tb testing.TB, pool *pgxpool.Pool, sql string, args ...any) {
	tb.Helper()
	if _, err := pool.Exec(within(tb), sql, args...); err != nil {
		tb.Fatal(err)
	}
}

// harness connects the suite with a new namespace.
func harness(pool *pgxpool.Pool) coordtest.Harness {
	ns, other := rand.Text(), rand.Text()
	participant := func(ns string) func(testing.TB, coord.Range) coord.Coordinator {
		return func(tb testing.TB, _ coord.Range) coord.Coordinator {
			tb.Helper()
			return newCoordinator(tb, pool, ns, nil)
		}
	}
	return coordtest.Harness{
		Client: participant(ns), OtherNamespace: participant(other), Sticky: true,
		Expire: func(tb testing.TB, g coord.Grant) {
			tb.Helper()
			exec(tb, pool, "UPDATE unalike_slots SET lease_ends = 0 WHERE namespace = $1 AND worker = $2", ns, g.WorkerID)
		},
		RaiseFloor: func(tb testing.TB, tick int64) {
			tb.Helper()
			drivertest.RaiseFloor(tb, newCoordinator(tb, pool, ns, nil), tick)
		},
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	pool := newPool(t, pgtest.Start(t).URL())
	coordtest.Run(t, func(testing.TB) coordtest.Harness { return harness(pool) })
}

func TestAdmin(t *testing.T) {
	pool := newPool(t, pgtest.Start(t).URL())
	coordtest.RunAdmin(t, func(testing.TB) coordtest.Harness { return harness(pool) })
}
