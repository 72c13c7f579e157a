package sqltest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/sqlstore"
)

// Limits holds the store to its limits.
func Limits(d *Database) {
	d.Helper()
	ns := drivertest.LongName()
	drivertest.Limits{
		Workers: drivertest.Most(sqlstore.MaxCapacity),
		Open: func(tb testing.TB) drivertest.Operator {
			tb.Helper()
			return d.On(tb).New(ns)
		},
		Occupy: func(tb testing.TB, like func(string, int) string) {
			tb.Helper()
			row := func(column string) string {
				return d.Text("SELECT %s FROM unalike_slots WHERE worker = 0 AND namespace = '%s'", column, ns)
			}
			// Worker IDs with more digits than this one are not there.
			const one = 98765
			record := "'" + like(row("record"), one) + "'"
			for _, n := range []string{"%026d", "%08d", `"worker":%d,`} {
				of := strings.Replace(n, "%d", "', worker, '", 1)
				if n != of {
					of = "CONCAT('" + of + "')"
				} else {
					of = fmt.Sprintf("LPAD(CONCAT('', worker), %s, '0')", strings.Trim(n, "%d"))
				}
				record = fmt.Sprintf("REPLACE(%s, '%s', %s)", record, fmt.Sprintf(n, one), of)
			}
			d.Do(fmt.Sprintf("UPDATE unalike_slots SET made = 1, version = 1, stamp = worker, record = %s, "+
				"token = CONCAT('t', worker), identity = CONCAT('i', worker), lease_ends = %s "+
				"WHERE worker > 0 AND namespace = '%s'", record, row("lease_ends"), ns))
		},
	}.Run(d)
}
