package mysql_test

import (
	"crypto/rand"
	"database/sql"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/coord/mysql"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
)

// newPool returns a pool that ends with the test.
func newPool(tb testing.TB, dsn string) *sql.DB {
	tb.Helper()
	pool, err := sql.Open("mysql", dsn)
	if err != nil {
		tb.Fatal(err)
	}
	pool.SetMaxIdleConns(16)
	pool.SetMaxOpenConns(16)
	return drivertest.Closing(tb, pool, nil)
}

// several is the parameter of a DSN that the driver needs.
const several = "?multiStatements=true"

// newCoordinator returns a coordinator that is closed with the test.
func newCoordinator(tb testing.TB, pool *sql.DB, namespace string, o *mysql.Options) *mysql.Coordinator {
	tb.Helper()
	c, err := mysql.New(pool, namespace, drivertest.Value(o))
	return drivertest.Closing(tb, c, err)
}

// exec makes a statement by hand.
func exec(tb testing.TB, pool *sql.DB, sql string, args ...any) {
	tb.Helper()
	if _, err := pool.ExecContext(within(tb), sql, args...); err != nil {
		tb.Fatal(err)
	}
}

// harness connects the suite with a new namespace.
func harness(pool *sql.DB) coordtest.Harness {
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
			exec(tb, pool, "UPDATE unalike_slots SET lease_ends = 0 WHERE namespace = ? AND worker = ?", ns, g.WorkerID)
		},
		RaiseFloor: func(tb testing.TB, tick int64) {
			tb.Helper()
			drivertest.RaiseFloor(tb, newCoordinator(tb, pool, ns, nil), tick)
		},
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	pool := newPool(t, mysqltest.Start(t).DSN(several))
	coordtest.Run(t, func(testing.TB) coordtest.Harness { return harness(pool) })
}

func TestAdmin(t *testing.T) {
	pool := newPool(t, mysqltest.Start(t).DSN(several))
	coordtest.RunAdmin(t, func(testing.TB) coordtest.Harness { return harness(pool) })
}
