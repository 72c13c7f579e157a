package sqltest

import (
	"log/slog"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/protocol/storetest"
	"github.com/unalike-id/unalike/internal/sqlstore"
)

// expire ends a lease.
func (d *Database) expire(tb testing.TB, ns string, worker int) {
	tb.Helper()
	d.Exec(tb, "UPDATE unalike_slots SET lease_ends = 0 WHERE namespace = '%s' AND worker = %d", ns,
		worker)
}

// driver connects the suites of coordinators.
func (d *Database) driver(testing.TB) drivertest.Driver {
	return drivertest.Driver{
		Open: func(tb testing.TB, ns string) drivertest.Operator {
			tb.Helper()
			return d.New(tb, ns)
		},
		Expire: d.expire,
	}
}

// Conformance runs the suites of coordinators.
func Conformance(t *testing.T, d *Database) { drivertest.Conformance(t, d.driver) }

// Between runs the suite's cases in which something happens between two transactions of one
// operation.
func Between(t *testing.T, d *Database) {
	coordtest.RunBetween(t, func(tb testing.TB) coordtest.BetweenHarness {
		ns := newName()
		return coordtest.BetweenHarness{
			Harness: d.driver(tb).Harness(ns),
			Lose:    func(tb testing.TB) func() { tb.Helper(); return d.dump(tb, ns) },
			Before: func(c coord.Coordinator, n int, act func()) func() bool {
				return c.(Participant).Before(n, act)
			},
		}
	})
}

// Store holds the store to its interface.
func Store(t *testing.T, d *Database) {
	storetest.Run(t, func(testing.TB) storetest.Harness {
		ns := newName()
		return storetest.Harness{
			Store: sqlstore.NewStore(d.DB, d.Dialect, ns, sqlstore.Options{
				Prefix: sqlstore.DefaultPrefix, Accept: d.Accept, Logger: slog.New(slog.DiscardHandler),
			}),
			Count: func(tb testing.TB) (n int) {
				tb.Helper()
				for _, table := range []string{"namespaces", "slots"} {
					n += int(d.Int(tb, "SELECT COUNT(*) FROM unalike_%s WHERE namespace = '%s'", table, ns))
				}
				return n
			},
			Expire: func(tb testing.TB, worker int) { tb.Helper(); d.expire(tb, ns, worker) },
		}
	})
}

// dump returns what puts a namespace back to what it is now.
func (d *Database) dump(tb testing.TB, ns string) (restore func()) {
	tb.Helper()
	tables, copies := []string{"namespaces", "slots"}, "dump_"+newName()
	for _, table := range tables {
		d.Exec(tb, "CREATE TABLE %s_%s AS SELECT * FROM unalike_%s WHERE namespace = '%s'", copies, table,
			table, ns)
	}
	return func() {
		for _, table := range tables {
			d.Exec(tb, "DELETE FROM unalike_%s WHERE namespace = '%s'", table, ns)
			d.Exec(tb, "INSERT INTO unalike_%s SELECT * FROM %s_%s", table, copies, table)
		}
	}
}
