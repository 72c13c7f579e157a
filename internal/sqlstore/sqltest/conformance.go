package sqltest

import (
	"log/slog"
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/protocol/storetest"
	"github.com/unalike-id/unalike/internal/sqlstore"
)

// expire ends a lease.
func (d *Database) expire(tb testing.TB, ns string, worker int) {
	tb.Helper()
	d.On(tb).Exec("UPDATE unalike_slots SET lease_ends = 0 WHERE namespace = '%s' AND worker = %d", ns,
		worker)
}

// Driver connects the suites of coordinators.
func (d *Database) Driver(testing.TB) drivertest.Driver {
	return drivertest.Driver{
		Open: func(tb testing.TB, ns string) drivertest.Operator {
			tb.Helper()
			return d.On(tb).New(ns)
		},
		Expire: d.expire,
	}
}

// Conformance runs the suites of coordinators.
func Conformance(t *testing.T, d *Database) { drivertest.Conformance(t, d.Driver) }

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
					n += int(d.On(tb).Int("SELECT COUNT(*) FROM unalike_%s WHERE namespace = '%s'", table, ns))
				}
				return n
			},
			Expire: func(tb testing.TB, worker int) { tb.Helper(); d.expire(tb, ns, worker) },
		}
	})
}

// Dump returns what puts a namespace back to what it is now.
func (d *Database) Dump(ns string) (restore func()) {
	d.Helper()
	tables, copies := []string{"namespaces", "slots"}, "dump_"+newName()
	for _, table := range tables {
		d.Exec("CREATE TABLE %s_%s AS SELECT * FROM unalike_%s WHERE namespace = '%s'", copies, table,
			table, ns)
	}
	return func() {
		for _, table := range tables {
			d.Exec("DELETE FROM unalike_%s WHERE namespace = '%s'", table, ns)
			d.Exec("INSERT INTO unalike_%s SELECT * FROM %s_%s", table, copies, table)
		}
	}
}
