//go:build unix

package mysql_test

import (
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest/localtest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
)

// TestOutlives: with a state file, a process that is started again goes on in an outage.
func TestOutlives(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	exec(t, newPool(t, s.DSN("")), "CREATE USER ann IDENTIFIED BY 'secret'")
	exec(t, newPool(t, s.DSN("")), "GRANT ALL ON unalike.* TO ann")
	localtest.Outlives(t, "mysql://ann:secret@"+s.Addr()+"/unalike?namespace=orders", func() { s.Freeze(t) }, func() { s.Thaw(t) })
}

// TestPlace: what leads to another namespace is another place.
func TestPlace(t *testing.T) {
	localtest.Place(t, "mysql://ann:secret@h/db?namespace=orders", "mysql://ann:secret@h/db?namespace=payments", "mysql://ann:secret@h/other?namespace=orders",
		"mysql://ann:secret@i/db?namespace=orders", "mysql://ann:secret@h/db?namespace=orders&prefix=own_", "mysql://ann:secret@/db?namespace=orders&socket=/run/s")
}
