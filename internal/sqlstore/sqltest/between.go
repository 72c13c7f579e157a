package sqltest

import (
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/sqlstore"
)

// newWith returns a coordinator whose tables have a prefix.
func newWith(d *Database, namespace, prefix string) (*protocol.Coordinator, error) {
	return sqlstore.New(d.DB, d.Dialect, "sql", "the database", namespace, nil, sqlstore.Options{Prefix: prefix, Accept: d.Accept})
}

// Between runs the suite's cases in which something happens between two transactions of one
// operation.
func Between(t *testing.T, d *Database) {
	t.Helper()
	coordtest.RunBetween(t, func(tb testing.TB) coordtest.BetweenHarness {
		tb.Helper()
		ns, links := newName(), map[coord.Coordinator]*Link{}
		return coordtest.BetweenHarness{
			Harness: coordtest.Harness{
				Client: func(tb testing.TB, _ coord.Range) coord.Coordinator {
					tb.Helper()
					c, l := d.New(tb, ns)
					links[c] = l
					return c
				},
				Expire: func(tb testing.TB, g coord.Grant) {
					tb.Helper()
					d.Exec(tb, "UPDATE unalike_slots SET lease_ends = 0 WHERE namespace = '%s' AND worker = %d", ns, g.WorkerID)
				},
				RaiseFloor: func(tb testing.TB, tick int64) {
					tb.Helper()
					c, _ := d.New(tb, ns)
					drivertest.RaiseFloor(tb, c, tick)
				},
				Sticky: true,
			},
			LoseReply: func(_ testing.TB, c coord.Coordinator, n int) func() bool { return links[c].Before(n, nil) },
			Lose:      func(tb testing.TB) func() { tb.Helper(); return d.dump(tb, ns) },
			Before: func(_ testing.TB, c coord.Coordinator, n int, act func()) func() bool {
				return links[c].Before(n, act)
			},
		}
	})
}

// dump returns what puts a namespace back to what it is now.
func (d *Database) dump(tb testing.TB, ns string) (restore func()) {
	tb.Helper()
	tables, copies := []string{"namespaces", "slots"}, "dump_"+newName()
	for _, table := range tables {
		d.Exec(tb, "CREATE TABLE %s_%s AS SELECT * FROM unalike_%s WHERE namespace = '%s'", copies, table, table, ns)
	}
	return func() {
		for _, table := range tables {
			d.Exec(tb, "DELETE FROM unalike_%s WHERE namespace = '%s'", table, ns)
			d.Exec(tb, "INSERT INTO unalike_%s SELECT * FROM %s_%s", table, copies, table)
		}
	}
}
