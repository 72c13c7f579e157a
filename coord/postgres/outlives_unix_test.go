//go:build unix

package postgres_test

import (
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest/localtest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
)

// TestOutlives: with a state file, a process that is started again goes on in an outage.
func TestOutlives(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	localtest.Outlives(t, s.URL()+"?accept=fsync&namespace=orders", func() { s.Freeze(t) }, func() { s.Thaw(t) })
}

// TestPlace: what leads to another namespace is another place.
func TestPlace(t *testing.T) {
	localtest.Place(t, "postgres://ann:secret@h/db?namespace=orders", "postgres://ann:secret@h/db?namespace=payments", "postgres://ann:secret@h/other?namespace=orders",
		"postgres://bob:secret@h/db?namespace=orders", "postgres://ann:secret@h,i/db?namespace=orders", "postgres://ann:secret@h/db?namespace=orders&prefix=own_", "postgres://ann:secret@/db?namespace=orders&socket=/run")
}
